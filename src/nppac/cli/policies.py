"""Commands that use trained policies: `compare`, `evaluate` and `render`."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import tyro
from rich.table import Table

from nppac.cli.arguments import OptionalTask, PolicyPath, Positional
from nppac.cli.show import console, show, text_of
from nppac.deploy.acting import acting_policy
from nppac.deploy.run_result import EVALUATION_SEED
from nppac.evaluation.compare import evaluation_measure, evaluation_summary, group_runs
from nppac.evaluation.evaluate import evaluate_policy
from nppac.evaluation.metrics import METRICS_FILE, load_metrics
from nppac.plotting.ends import draw_ends
from nppac.plotting.learning_curve import draw_learning_curves
from nppac.tasks import get_task
from nppac.tasks.video import record_video
from nppac.training.config import read_config, to_json
from nppac.utils.errors import UserError, check_seed
from nppac.utils.files import write_json
from nppac.utils.provenance import provenance


def compare_command(
    runs: Annotated[Positional[tuple[Path, ...]], tyro.conf.arg(metavar="RUN...")],
    out: Path = Path("comparison.png"),
    ends: bool = False,
) -> None:
    """Compare runs on one task: a table of methods over seeds, and their learning curves.

    Runs of one method whose settings differ have rows of their own.

    Args:
        runs: Directories of runs, of one task and any methods and seeds.
        out: The picture to draw.
        ends: Draw only where each run ended: curves of many settings cannot be told apart.
    """
    groups = group_runs({run: to_json(read_config(run)) for run in runs})
    task, methods = read_config(runs[0]).task, {}
    table = Table("method", "runs", "steps", "at start", "at end", "best")
    for method, group in groups.items():
        methods[method] = [load_metrics(run / METRICS_FILE) for run in group]
        steps = max(int(metrics["env_steps"][-1]) for metrics in methods[method])
        cells = [_mean_and_spread(values) for values in evaluation_summary(methods[method])]
        table.add_row(method, str(len(group)), f"{steps:,}", *cells)
    measure = evaluation_measure([m for group in methods.values() for m in group])
    print(f"{task}: {measure}, mean over runs (lowest to highest)")
    console().print(table)
    draw = draw_ends if ends else draw_learning_curves
    draw(methods, out, title=task)
    print(f"Picture: {out}")


def _mean_and_spread(values: Sequence[float]) -> str:
    """Mean over seeds, and the lowest and highest of them."""
    mean = sum(values) / len(values)
    return f"{text_of(mean)} ({text_of(min(values))} to {text_of(max(values))})"


def evaluate_command(
    policy: PolicyPath,
    episodes: int = 100,
    task: OptionalTask = None,
    seed: int = EVALUATION_SEED,
    json: Annotated[Path | None, tyro.conf.arg(metavar="FILE")] = None,
) -> None:
    """Evaluate a run's policy, a distilled one, or a reference's mean, over many episodes.

    Args:
        policy: Directory of a run, or the file of a distilled policy or of a reference.
        episodes: Number of episodes.
        task: Task to act in; needed for a reference, and for a file whose task is of a module.
        seed: Seed of the episodes.
        json: Also write the result, with the command and commit, to this file.

    """
    check_counts(episodes, seed)
    act, task = acting_policy(policy, task)
    result = evaluate_policy(get_task(task), act, episodes, seed)
    shown = {k: v for k, v in result.items() if not isinstance(v, list | tuple)}
    show(f"{policy} on {task}, {episodes} episodes", shown)
    if json is not None:
        write_json(
            json,
            {"task": task, "policy": str(policy), "seed": seed, **result}
            | {"provenance": provenance()},
        )


def render_command(
    policy: PolicyPath,
    out: Path = Path("video.mp4"),
    episodes: int = 1,
    task: OptionalTask = None,
    seed: int = EVALUATION_SEED,
) -> None:
    """Film a policy; works without a display.

    Args:
        policy: Directory of a run, or the file of a distilled policy or of a reference.
        out: The video to write.
        episodes: Number of episodes to film.
        task: Task to act in; needed for a reference, and for a file whose task is of a module.
        seed: Seed of the episodes.

    """
    check_counts(episodes, seed)
    act, task = acting_policy(policy, task)
    filmed = record_video(get_task(task), act, out, seed=seed, episodes=episodes)
    frames = sum(len(episode) for episode in filmed)
    print(f"{out}: {len(filmed)} episode(s), {frames} steps")


def check_counts(episodes: int, seed: int) -> None:
    """Refuse a number of episodes or a seed that means nothing."""
    if episodes < 1:
        raise UserError(f"'episodes' is {episodes}; it must be at least 1.")
    check_seed(seed)
