"""Commands that use trained policies: `compare`, `evaluate` and `render`."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated

import tyro
from rich.table import Table

from nppac.cli.arguments import OptionalTask, PolicyPath, Positional
from nppac.cli.show import console, show, text_of
from nppac.deploy.acting import acting_policy
from nppac.deploy.run_result import EVALUATION_SEED
from nppac.evaluation.compare import (
    default_threshold,
    evaluation_measure,
    group_runs,
    load_evaluated,
    standings,
)
from nppac.evaluation.curves import Metrics
from nppac.evaluation.evaluate import evaluate_policy
from nppac.plotting.evaluation_table import Evaluated, evaluation_table
from nppac.plotting.numbers import interval_text, steps_text
from nppac.tasks import get_task
from nppac.tasks.video import record_video
from nppac.training.config import plain_config
from nppac.training.summary import load_fresh
from nppac.utils.errors import UserError, check_seed
from nppac.utils.files import write_atomically, write_json
from nppac.utils.locks import check_output
from nppac.utils.provenance import provenance
from nppac.utils.text import printable

MOST_EPISODES = 10**6
"""As many as a run's evaluation may have."""


def compare_command(
    runs: Annotated[Positional[tuple[Path, ...]], tyro.conf.arg(metavar="RUN...")],
    out: Path = Path("comparison.png"),
    ends: bool = False,
    threshold: Annotated[float | None, tyro.conf.arg(metavar="LEVEL")] = None,
    markdown: Annotated[Path | None, tyro.conf.arg(metavar="FILE")] = None,
) -> None:
    """Compare runs on one task: a table of methods over seeds, and their learning curves.

    For example: nppac compare runs/door-* --threshold 0.8

    Numbers are interquartile means over seeds with 95 % bootstrap intervals. Runs of one method
    whose settings, budgets, demonstrations or evaluation episodes differ have rows of their own.

    Args:
        runs: Directories of runs, of one task and any methods and seeds.
        out: The picture to draw.
        ends: Draw only where each run ended: curves of many settings cannot be told apart.
        threshold: Level to which steps are counted; by default nine tenths of what can be reached.
        markdown: Also write every evaluation of every run, and what it judged on fresh episodes,
            to this file as a table for documents.
    """
    if markdown is not None:
        check_output(markdown)
    groups = group_runs({run: plain_config(run) for run in runs})
    methods = {name: [load_evaluated(run) for run in group] for name, group in groups.items()}
    task = printable(str(plain_config(runs[0])["task"]))
    _print_standings(methods, threshold, task)
    # Matplotlib takes longer to import than most commands do.
    from nppac.plotting.ends import draw_ends
    from nppac.plotting.learning_curve import draw_learning_curves

    draw = draw_ends if ends else draw_learning_curves
    draw(methods, out, title=task)
    print(f"Picture: {out}")
    if markdown is not None:
        runs_of = {name: list(map(_evaluated, group)) for name, group in groups.items()}
        text = evaluation_table(runs_of)
        write_atomically(markdown, lambda file: file.write(text.encode()))
        print(f"Table: {markdown}")


def _print_standings(
    methods: Mapping[str, Sequence[Metrics]], threshold: float | None, task: str
) -> None:
    """A row for each method: where it began, ended and was best, and when it reached the level."""
    measure = evaluation_measure([m for group in methods.values() for m in group])
    level = default_threshold(methods) if threshold is None else threshold
    names = ("method", "seeds", "steps", "at start", "at end", "best")
    table = Table(*names, f"steps to {text_of(float(level))}")
    for row in standings(methods, [level]):
        done = " to ".join(f"{steps:,}" for steps in sorted(set(row.steps)))
        cells = [interval_text(interval) for interval in (row.start, row.end, row.best)]
        table.add_row(row.name, str(row.runs), done, *cells, steps_text(row.reached[0]))
    print(f"{task}: {measure}, interquartile mean over seeds [95 % interval]")
    console().print(table)


def _evaluated(run: Path) -> Evaluated:
    seed = printable(str(plain_config(run).get("seed", "?"))).replace("|", "")
    metrics = load_evaluated(run)
    return Evaluated(seed, metrics, load_fresh(run, int(metrics["env_steps"][-1])))


def evaluate_command(
    policy: PolicyPath,
    episodes: int = 100,
    task: OptionalTask = None,
    seed: int = EVALUATION_SEED,
    json: Annotated[Path | None, tyro.conf.arg(metavar="FILE")] = None,
    trust: bool = False,
    latest: bool = False,
) -> None:
    """Evaluate a run's policy, a distilled one, or a reference's mean, over many episodes.

    Args:
        policy: Directory of a run, or the file of a distilled policy or of a reference.
        episodes: Number of episodes.
        task: Task to act in; needed for a reference, and for a file whose task is of a module.
        seed: Seed of the episodes.
        json: Also write the result, with the command and commit, to this file.
        trust: Import the modules that a run from elsewhere names.
        latest: Take a run's newest policy instead of its incumbent, the best that was proven.

    """
    check_counts(episodes, seed)
    if json is not None:
        check_output(json)
    act, task, which = acting_policy(policy, task, trust=trust, latest=latest)
    result = evaluate_policy(get_task(task), act, episodes, seed)
    shown = {k: v for k, v in result.items() if not isinstance(v, list | tuple)}
    show(f"{policy}, {which}, on {task}: {episodes} episodes", shown)
    if json is not None:
        write_json(
            json,
            {"task": task, "policy": str(policy), "which": which, "seed": seed, **result}
            | {"provenance": provenance()},
        )


def render_command(
    policy: PolicyPath,
    out: Path = Path("video.mp4"),
    episodes: int = 1,
    task: OptionalTask = None,
    seed: int = EVALUATION_SEED,
    trust: bool = False,
    latest: bool = False,
) -> None:
    """Film a policy; works without a display.

    Args:
        policy: Directory of a run, or the file of a distilled policy or of a reference.
        out: The video to write.
        episodes: Number of episodes to film.
        task: Task to act in; needed for a reference, and for a file whose task is of a module.
        seed: Seed of the episodes.
        trust: Import the modules that a run from elsewhere names.
        latest: Take a run's newest policy instead of its incumbent, the best that was proven.

    """
    check_counts(episodes, seed)
    check_output(out)
    act, task, _ = acting_policy(policy, task, trust=trust, latest=latest)
    filmed = record_video(get_task(task), act, out, seed=seed, episodes=episodes)
    frames = sum(len(episode) for episode in filmed)
    print(f"{out}: {len(filmed)} episode(s), {frames} steps")


def check_counts(episodes: int, seed: int) -> None:
    """Refuse a number of episodes or a seed that means nothing."""
    if not 1 <= episodes <= MOST_EPISODES:
        least = "at least 1" if episodes < 1 else f"at most {MOST_EPISODES}"
        raise UserError(f"'episodes' is {episodes}; it must be {least}.")
    check_seed(seed)
