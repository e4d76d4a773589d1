"""Commands about demonstrations: `demos list`, `inspect`, `convert` and `record`."""

from collections.abc import Callable
from itertools import islice
from pathlib import Path
from typing import Annotated

import gymnasium
import numpy as np
import tyro
from rich.table import Table

from nppac.cli.arguments import EVALUATION_SEED, DemosSource, OptionalTask, Positional
from nppac.cli.policies import acting_policy, check_counts
from nppac.cli.show import console, flatten, show
from nppac.demos import (
    convert,
    demos_from_episodes,
    describe,
    embedded_names,
    load_demos,
    load_embedded,
    save_demos,
    validate,
)
from nppac.errors import UserError
from nppac.progress import progress_bar
from nppac.replay import rewards_of
from nppac.rollout import Act, episode_seeds, rollout
from nppac.runs import load_task_demos, provenance
from nppac.tasks import get_task, make_env
from nppac.types import Episode


def demos_list() -> None:
    """List the embedded demonstrations."""
    table = Table("name", "episodes", "steps", "mean return")
    for name in embedded_names():
        facts = describe(load_embedded(name))
        returns = facts["returns"]
        mean = f"{returns['mean']:.1f}" if returns else ""
        table.add_row(name, str(facts["episodes"]), str(facts["steps"]), mean)
    console().print(table)


def demos_inspect(path: DemosSource, task: OptionalTask = None) -> None:
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


def demos_convert(
    source: DemosSource,
    out: Annotated[Positional[Path], tyro.conf.arg(metavar="FILE")],
) -> None:
    """Convert demonstrations of any known format to nppac's npz.

    Args:
        source: A file, a Minari id or an embedded name.
        out: The npz file to write.

    """
    for note in convert(source, out):
        print(note)
    print(f"{source} -> {out}")


def demos_record(
    policy: Path,
    out: Path,
    task: OptionalTask = None,
    episodes: int = 15,
    only_successes: bool = False,
    min_return: Annotated[float | None, tyro.conf.arg(metavar="RETURN")] = None,
    seed: int = EVALUATION_SEED,
) -> None:
    """Roll a trained policy out and keep its episodes as demonstrations.

    Args:
        policy: Directory of a run, or the file of a reference.
        out: The npz file to write.
        task: Task to act in; by default the run's own.
        episodes: Number of episodes to keep.
        only_successes: Keep only episodes that end in success; others are run but dropped.
        min_return: Keep only episodes that return at least this much.
        seed: Seed of the episodes.
    """
    check_counts(episodes, seed)
    act, task = acting_policy(policy, task)
    spec = get_task(task)

    def good(episode: Episode) -> bool:
        succeeded = episode.successes is not None and bool(episode.successes[-1])
        enough = min_return is None or float(np.sum(rewards_of(episode))) >= min_return
        return enough and (succeeded or not only_successes)

    kept, tried = _rollout_until(make_env(spec), act, good, episodes, seed)
    if len(kept) < episodes:
        raise UserError(
            f"Only {len(kept)} of {tried} episodes were as asked; {out} was not written. Ask for "
            "fewer episodes or less of each."
        )
    facts = {**provenance(), "task": task, "tried": tried, "seed": seed}
    env_kwargs = dict(spec.env_kwargs)
    save_demos(
        out, demos_from_episodes(kept, env_id=spec.env_id, env_kwargs=env_kwargs, provenance=facts)
    )
    show(str(out), flatten(describe(load_demos(str(out)))))


def _rollout_until(
    env: gymnasium.Env, act: Act, good: Callable[[Episode], bool], episodes: int, seed: int
) -> tuple[list[Episode], int]:
    """Episodes until so many are good, or until twenty times as many were tried."""
    kept: list[Episode] = []
    tried = 0
    with progress_bar("Recording", episodes) as advance:
        for episode_seed in islice(episode_seeds(seed, "demonstrations"), 20 * episodes):
            kept += [episode for episode in rollout([env], act, [episode_seed]) if good(episode)]
            tried += 1
            advance(len(kept), f"{tried} tried")
            if len(kept) == episodes:
                break
    return kept, tried
