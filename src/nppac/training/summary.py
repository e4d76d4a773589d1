"""The result of a run in a few numbers."""

from pathlib import Path

import numpy as np

from nppac.evaluation.metrics import METRICS_FILE, load_metrics
from nppac.evaluation.statistics import Interval, mean_interval
from nppac.training.config import RunConfig
from nppac.training.directory import SUMMARY_FILE
from nppac.training.epoch import Run
from nppac.utils.errors import UserError
from nppac.utils.files import read_json_object


def run_summary(
    config: RunConfig, directory: Path, run: Run, fresh: dict[str, object] | None
) -> dict[str, object]:
    """What the run came to, in a few numbers; `fresh` is its judgement on fresh episodes."""
    metrics = load_metrics(directory / METRICS_FILE)
    evaluated = ~np.isnan(metrics["eval_return_mean"])
    if not evaluated.any():
        raise UserError(f"{directory} holds no evaluation.")

    def ends(column: str) -> dict[str, float | None]:
        values = metrics[column][evaluated]
        if np.isnan(values).all():
            return {"first": None, "last": None, "best": None}
        return {
            "first": float(values[0]),
            "last": float(values[-1]),
            "best": float(np.max(values)),
        }

    speeds = metrics["updates_per_second"][np.isfinite(metrics["updates_per_second"])]
    return {
        "task": config.task,
        "method": config.method,
        "seed": config.seed,
        "env_steps": run.progress.env_steps,
        "updates": run.progress.updates,
        "wall_seconds": round(run.progress.wall_seconds, 1),
        "eval_return": ends("eval_return_mean"),
        "eval_success_any": ends("eval_success_any"),
        "eval_success_end": ends("eval_success_end"),
        "updates_per_second": float(np.median(speeds)) if speeds.size else None,
        **({"incumbent": _incumbent_facts(run)} if run.incumbent.challenges else {}),
        **({"fresh": fresh} if fresh else {}),
    }


def _incumbent_facts(run: Run) -> dict[str, object]:
    """When the run's policy was chosen, what it took, and what the last test saw."""
    names = ("env_steps", "challenges", "promotions", "test_steps")
    facts: dict[str, object] = {name: getattr(run.incumbent, name) for name in names}
    seen = np.array(run.incumbent.differences)
    if len(seen):
        facts["last_test"] = {
            "challenger_from": run.incumbent.challenger_from,
            "episodes": len(seen),
            "difference": list(mean_interval(seen)),
        }
    return facts


def load_fresh(directory: Path, env_steps: int) -> dict[str, dict[str, Interval]]:
    """Measures by policy of what a run of so many steps judged on fresh episodes at its end.

    There are none if it did not; a run that was extended since then had other policies.
    """
    path = directory / SUMMARY_FILE
    summary = read_json_object(path) if path.exists() else {}
    fresh = summary.get("fresh")
    if not isinstance(fresh, dict) or summary.get("env_steps") != env_steps:
        return {}
    return {
        policy: {
            name: Interval(*map(float, value))
            for name, value in outcome.items()
            if _is_interval(value)
        }
        for policy, outcome in fresh.items()
        if isinstance(outcome, dict)
    }


def _is_interval(value: object) -> bool:
    """Whether a value of a file is an estimate with the ends of its interval."""
    if not isinstance(value, list) or len(value) != 3:
        return False
    return all(type(number) in (int, float) for number in value)
