"""Commands about demonstrations: `demos list`, `inspect`, `convert`, `record` and `relabel`."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Annotated

import gymnasium
import numpy as np
import tyro
from rich.table import Table

from nppac.cli.arguments import DemosSource, OptionalTask, Positional
from nppac.cli.policies import check_counts
from nppac.cli.show import console, flatten, show, text_of
from nppac.demos import (
    Demos,
    convert,
    demos_from_episodes,
    describe,
    embedded_names,
    load_demos,
    load_embedded,
    relabel,
    save_demos,
    validate,
)
from nppac.demos.data import SEEDS
from nppac.demos.for_task import load_task_demos
from nppac.demos.record import noisy, with_intended_actions
from nppac.demos.relabel import By, Relabelled, default_by
from nppac.deploy.acting import acting_policy
from nppac.deploy.run_result import EVALUATION_SEED
from nppac.tasks import get_task, make_env
from nppac.tasks.rollout import Act, episode_seeds, rollout
from nppac.training.transitions import rewards_of
from nppac.types import Episode
from nppac.utils.errors import UserError
from nppac.utils.locks import check_output
from nppac.utils.progress import progress_bar
from nppac.utils.provenance import provenance

SCREEN = 30
"""Episodes that a table shows one by one."""


def demos_list_command() -> None:
    """List the embedded demonstrations."""
    table = Table("name", "episodes", "steps", "mean return")
    for name in embedded_names():
        facts = describe(load_embedded(name))
        returns = facts["returns"]
        mean = f"{returns['mean']:.1f}" if isinstance(returns, Mapping) else ""
        table.add_row(name, str(facts["episodes"]), str(facts["steps"]), mean)
    console().print(table)


def demos_inspect_command(path: DemosSource, task: OptionalTask = None) -> None:
    """Describe demonstrations and check them.

    Args:
        path: A file of any known format, a Minari id or an embedded name.
        task: Also check the shapes against this task.

    """
    demos = load_demos(path)
    show(path, flatten(describe(demos)))
    if task is not None:
        load_task_demos(get_task(task), path, None)
    else:
        for note in validate(demos)[1]:
            print(note)
    print("Checked: nothing prevents training on these.")


def demos_convert_command(
    source: DemosSource,
    out: Annotated[Positional[Path], tyro.conf.arg(metavar="FILE")],
    env_id: Annotated[str | None, tyro.conf.arg(metavar="ID")] = None,
) -> None:
    """Convert demonstrations of any known format to nppac's npz.

    Args:
        source: A file, a Minari id or an embedded name.
        out: The npz file to write.
        env_id: The environment to name, in place of the one that the file names.

    """
    check_output(out)
    for note in convert(source, out, env_id):
        print(note)
    print(f"{source} -> {out}")


def demos_record_command(
    policy: Path,
    out: Path,
    task: OptionalTask = None,
    episodes: int = 15,
    only_successes: bool = False,
    min_return: Annotated[float | None, tyro.conf.arg(metavar="RETURN")] = None,
    noise: float = 0.0,
    intended_actions: bool = False,
    seed: int = EVALUATION_SEED,
    trust: bool = False,
    latest: bool = False,
) -> None:
    """Roll a trained policy out and keep its episodes as demonstrations.

    Args:
        policy: Directory of a run, or the file of a distilled policy or of a reference.
        out: The npz file to write.
        task: Task to act in; by default the policy's own, unless its file names a module.
        episodes: Number of episodes to keep.
        only_successes: Keep only episodes that end in success; others are run but dropped.
        min_return: Keep only episodes that return at least this much.
        noise: Standard deviation of noise on each action, of which the range is [-1, 1].
        intended_actions: Keep what the policy intended at each state instead of its noisy action.
        seed: Seed of the episodes and of the noise.
        trust: Import the modules that a run from elsewhere names.
        latest: Take a run's newest policy instead of its incumbent.
    """
    check_counts(episodes, seed)
    check_output(out)
    act, task, _ = acting_policy(policy, task, trust=trust, latest=latest)
    spec = get_task(task)
    wanted = _filter(only_successes, min_return), episodes, seed, out
    kept, seeds, tried = _rollout_until(make_env(spec), noisy(act, noise, seed), *wanted)
    kept = [with_intended_actions(e, act) for e in kept] if intended_actions else kept
    disturbed = {"noise": noise, "intended_actions": intended_actions}
    made = {"task": task, "tried": tried, "seed": seed, **disturbed, SEEDS: seeds}
    facts = {"env_kwargs": dict(spec.env_kwargs), "provenance": {**provenance(), **made}}
    save_demos(out, demos_from_episodes(kept, env_id=spec.env_id, **facts))
    show(str(out), flatten(describe(load_demos(str(out)))))


def _filter(only_successes: bool, min_return: float | None) -> Callable[[Episode], bool]:
    """Whether an episode is to be kept."""

    def good(episode: Episode) -> bool:
        succeeded = episode.successes is not None and bool(episode.successes[-1])
        enough = min_return is None or float(np.sum(rewards_of(episode))) >= min_return
        return enough and (succeeded or not only_successes)

    return good


def _rollout_until(
    env: gymnasium.Env,
    act: Act,
    good: Callable[[Episode], bool],
    episodes: int,
    seed: int,
    out: Path,
) -> tuple[list[Episode], list[int], int]:
    """So many good episodes, the seed of each, and how many were tried; too few are refused.

    At most twenty times as many are tried.
    """
    kept: list[Episode] = []
    seeds: list[int] = []
    tried = 0
    with progress_bar("Recording", episodes) as advance:
        for episode_seed in islice(episode_seeds(seed, "demonstrations"), 20 * episodes):
            (episode,) = rollout([env], act, [episode_seed])
            if good(episode):
                kept.append(episode)
                seeds.append(episode_seed)
            tried += 1
            advance(len(kept), f"{tried} tried")
            if len(kept) == episodes:
                return kept, seeds, tried
    raise UserError(
        f"Only {len(kept)} of {tried} episodes were as asked; {out} was not written. Ask less."
    )


def demos_relabel_command(
    source: DemosSource,
    out: Annotated[Positional[Path], tyro.conf.arg(metavar="FILE")],
    task: str,
    by: Annotated[By | None, tyro.conf.arg(metavar="{success,replay}")] = None,
    force: bool = False,
) -> None:
    """Give demonstrations the task's rewards, whatever theirs were.

    Args:
        source: A file, a Minari id or an embedded name.
        out: The npz file to write.
        task: The task whose rewards they shall have.
        by: The task's rule of success, or a replay of the actions; by default the rule, if any.
        force: Take the rewards of a replay that strays from the record, too.

    """
    check_output(out)
    spec = get_task(task)
    way = default_by(spec) if by is None else by
    before = load_task_demos(replace(spec, demo_steps=None, rest_is_failure=False), source, None)
    assert before is not None
    found = relabel(before, spec, way, force)
    save_demos(out, _noted(found.demos, {"source": source, "task": task, "by": way}))
    _show_relabelled(before, found)
    print(f"{source} -> {out}")


def _noted(demos: Demos, facts: dict[str, str]) -> Demos:
    """The demonstrations with a note on their rewards in what is known of their origin."""
    origin = demos.metadata.get("provenance")
    kept = origin if isinstance(origin, Mapping) else {}
    return replace(demos, metadata={**demos.metadata, "provenance": {**kept, "rewards": facts}})


def _show_relabelled(before: Demos, found: Relabelled) -> None:
    """A row for each episode, but no more than a screen of them, and their sums."""
    replayed = found.deviations is not None
    table = Table("episode", "steps", "return before", "after", "successful steps")
    if replayed:
        table.add_column("strayed by")
    pairs = zip(before.episodes, found.demos.episodes, strict=True)
    for i, (old, new) in enumerate(islice(pairs, SCREEN)):
        deviation = [f"{found.deviations[i]:.2g} sd"] if found.deviations is not None else []
        cells = (str(len(new)), _return(old), _return(new), _successful(new), *deviation)
        table.add_row(str(i), *cells)
    out = console()
    out.print(table)
    if len(before) > SCREEN:
        print(f"... and {len(before) - SCREEN} more.")
    reached = sum(bool(np.any(e.successes)) for e in found.demos.episodes)
    known = all(e.successes is not None for e in found.demos.episodes)
    said = f", {reached} with a success" if known else ""
    print(f"{len(before)} episodes, {found.demos.steps} steps{said}.")


def _return(episode: Episode) -> str:
    return "-" if episode.rewards is None else text_of(float(np.sum(episode.rewards)))


def _successful(episode: Episode) -> str:
    return "-" if episode.successes is None else str(int(np.sum(episode.successes)))
