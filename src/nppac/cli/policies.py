"""Commands that use trained policies: `compare`, `evaluate` and `render`."""

import shlex
from pathlib import Path
from typing import Annotated, Any

import tyro
from rich.table import Table

from nppac.cli.arguments import EVALUATION_SEED, OptionalTask, PolicyPath, Positional
from nppac.cli.show import console, show, text_of
from nppac.deploy import numpy_policy as plain_policy
from nppac.evaluation.compare import (
    default_threshold,
    evaluation_measure,
    group_runs,
    load_evaluated,
    standings,
)
from nppac.evaluation.evaluate import evaluate_policy
from nppac.plotting.ends import draw_ends
from nppac.plotting.learning_curve import draw_learning_curves
from nppac.plotting.numbers import interval_text, steps_text
from nppac.references import load_reference
from nppac.tasks import get_task, make_env
from nppac.tasks.rollout import Act
from nppac.tasks.shapes import check_policy_shapes
from nppac.tasks.video import record_video
from nppac.training.config import read_config, to_json
from nppac.training.restore import load_run_policy
from nppac.utils.errors import UserError, check_seed, nearest_path
from nppac.utils.files import write_json
from nppac.utils.provenance import provenance


def compare(
    runs: Annotated[Positional[tuple[Path, ...]], tyro.conf.arg(metavar="RUN...")],
    out: Path = Path("comparison.png"),
    ends: bool = False,
    threshold: Annotated[float | None, tyro.conf.arg(metavar="LEVEL")] = None,
) -> None:
    """Compare runs on one task: a table of methods over seeds, and their learning curves.

    Runs of one method whose settings, budgets, demonstrations or evaluation episodes differ have
    rows of their own.

    Args:
        runs: Directories of runs, of one task and any methods and seeds.
        out: The picture to draw.
        ends: Draw only where each run ended: curves of many settings cannot be told apart.
        threshold: Count the steps until this level is held for three evaluations; by default 0.9
            successes, or nine tenths of the way from the lowest start to the best end.
    """
    groups = group_runs({run: to_json(read_config(run)) for run in runs})
    methods = {name: [load_evaluated(run) for run in group] for name, group in groups.items()}
    measure = evaluation_measure([m for group in methods.values() for m in group])
    level = default_threshold(methods) if threshold is None else threshold
    names = ("method", "seeds", "steps", "at start", "at end", "best")
    table = Table(*names, f"steps to {text_of(float(level))}")
    for row in standings(methods, [level]):
        done = " to ".join(f"{steps:,}" for steps in sorted(set(row.steps)))
        cells = [interval_text(interval) for interval in (row.start, row.end, row.best)]
        table.add_row(row.name, str(row.runs), done, *cells, steps_text(row.reached[0]))
    task = read_config(runs[0]).task
    print(f"{task}: {measure}, interquartile mean over seeds [95 % interval]")
    console().print(table)
    draw = draw_ends if ends else draw_learning_curves
    draw(methods, out, title=task)
    print(f"Picture: {out}")


def evaluate(
    policy: PolicyPath,
    episodes: int = 100,
    task: OptionalTask = None,
    seed: int = EVALUATION_SEED,
    json: Annotated[Path | None, tyro.conf.arg(metavar="FILE")] = None,
    trust: bool = False,
) -> None:
    """Evaluate a run's policy, a distilled one, or a reference's mean, over many episodes.

    Args:
        policy: Directory of a run, or the file of a distilled policy or of a reference.
        episodes: Number of episodes.
        task: Task to act in; needed for a reference, and for a file whose task is of a module.
        seed: Seed of the episodes.
        json: Also write the result, with the command and commit, to this file.
        trust: Import the modules that a run from elsewhere names.

    """
    check_counts(episodes, seed)
    act, task = acting_policy(policy, task, trust)
    result = evaluate_policy(get_task(task), act, episodes, seed)
    shown = {k: v for k, v in result.items() if not isinstance(v, list | tuple)}
    show(f"{policy} on {task}, {episodes} episodes", shown)
    if json is not None:
        write_json(
            json,
            {"task": task, "policy": str(policy), "seed": seed, **result}
            | {"provenance": provenance()},
        )


def render(
    policy: PolicyPath,
    out: Path = Path("video.mp4"),
    episodes: int = 1,
    task: OptionalTask = None,
    seed: int = EVALUATION_SEED,
    trust: bool = False,
) -> None:
    """Film a policy; works without a display.

    Args:
        policy: Directory of a run, or the file of a distilled policy or of a reference.
        out: The video to write.
        episodes: Number of episodes to film.
        task: Task to act in; needed for a reference, and for a file whose task is of a module.
        seed: Seed of the episodes.
        trust: Import the modules that a run from elsewhere names.

    """
    check_counts(episodes, seed)
    act, task = acting_policy(policy, task, trust)
    filmed = record_video(get_task(task), act, out, seed=seed, episodes=episodes)
    frames = sum(len(episode) for episode in filmed)
    print(f"{out}: {len(filmed)} episode(s), {frames} steps")


def acting_policy(path: Path, task: str | None, trust: bool = False) -> tuple[Any, str]:
    """A run's policy, a distilled one or a reference's mean, and the task to act in."""
    if not path.exists():
        raise UserError(f"There is no run directory or policy file {path}.{nearest_path(path)}")
    act: Act
    if path.is_dir():
        config, act = load_run_policy(path, trust=trust)
        task = task or config.task
    elif plain_policy.kind_of(path) == plain_policy.KIND:
        act = plain_policy.load_numpy_policy(path)
        task = task or (act.task if trust else task_from_file(path, act.task))
    elif task is None:
        raise UserError(f"{path} is not a run's directory; to act with a reference, give --task.")
    else:
        act = load_reference(path).mean
    env = make_env(get_task(task))
    check_policy_shapes(act, str(path), get_task(task), env)
    env.close()
    return act, task


def task_from_file(path: Path, task: str) -> str:
    """The task that a policy's file names; one that would import a module is the user's to name."""
    module = task.rpartition(":")[0]
    if module:
        raise UserError(
            f"{path} names the task {task[:100]!r}, for which the module {module[:100]!r} would be "
            "imported: a file must not decide what code runs. If you trust that module, add "
            f"--task {shlex.quote(task) if len(task) <= 100 and task.isprintable() else 'TASK'}."
        )
    return task


def check_counts(episodes: int, seed: int) -> None:
    """Refuse a number of episodes or a seed that means nothing."""
    if episodes < 1:
        raise UserError(f"'episodes' is {episodes}; it must be at least 1.")
    check_seed(seed)
