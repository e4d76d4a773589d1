"""Runs side by side: by method and settings, and each by its task's own measure."""

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from nppac.evaluation.curves import Metrics, measured
from nppac.evaluation.metrics import METRICS_FILE, RETURN, SUCCESS, load_metrics
from nppac.evaluation.statistics import (
    Interval,
    ThresholdSteps,
    bootstrap_interval,
    median_steps,
    steps_to_threshold,
)
from nppac.utils.errors import UserError
from nppac.utils.text import printable

_Config = Mapping[str, object]
"""A run's configuration, as `config.json` holds it."""

MEASURES = {SUCCESS: "success at any step", RETURN: "return"}
WATCHING = ("eval_every", "eval_envs", "checkpoint_every")
"""Settings that change neither what a run learns nor how well each evaluation measures it."""


class Standing(NamedTuple):
    """What runs of one kind came to, by their task's measure."""

    name: str
    runs: int
    steps: tuple[int, int]
    """Environment steps done: the fewest and the most of any run."""
    start: Interval
    end: Interval
    best: Interval
    reached: tuple[ThresholdSteps, ...]
    """For each threshold."""


def group_runs(configs: Mapping[Path, _Config]) -> dict[str, list[Path]]:
    """Runs of one task by their method, and by what else sets runs of one method apart.

    `configs` holds each run's configuration as plain data. Other budgets, demonstrations or
    evaluation episodes set runs apart as any other setting does.
    """
    if not configs:
        raise UserError("No run to compare: name the directories of some, such as runs/door-*.")
    tasks = sorted({str(config["task"]) for config in configs.values()})
    if len(tasks) != 1:
        raise UserError(f"A comparison needs runs of one task; these are of {tasks}.")
    own = {run: _settings(config) for run, config in configs.items()}
    methods = {run: str(config["method"]) for run, config in configs.items()}
    usual = {
        method: _usual([own[run] for run in configs if methods[run] == method])
        for method in methods.values()
    }
    groups: dict[str, list[Path]] = {}
    for run, method in methods.items():
        unusual = [f"{k} {v}" for k, v in own[run].items() if v != usual[method][k]]
        groups.setdefault(printable(", ".join([method, *unusual])), []).append(run)
    return groups


def _usual(alike: Sequence[Mapping[str, str]]) -> dict[str, str]:
    """The settings that most runs have all together, and the commonest of those it lacks.

    Of several that as many runs have, it is the one with the commonest values.
    """
    values: dict[str, Counter[str]] = {}
    for run in alike:
        for name, value in run.items():
            values.setdefault(name, Counter())[value] += 1
    commonest = {name: counts.most_common(1)[0][0] for name, counts in values.items()}
    wholes = Counter(tuple(run.items()) for run in alike)
    best = max(wholes, key=lambda w: (wholes[w], sum(commonest[k] == v for k, v in w)))
    return commonest | dict(best)


def _settings(config: _Config) -> dict[str, str]:
    """What a run learned by and how it was measured, without seed and task."""
    demos = config.get("demos")
    plain = {**config, "demos": demos and Path(str(demos)).name}  # wherever that file lies
    for name in ("seed", "task", "method", "provenance"):
        plain.pop(name, None)
    ignored = {name.replace("_", " ") for name in WATCHING}
    return {name: v for name, v in flat_settings(plain).items() if name not in ignored}


def flat_settings(config: _Config) -> dict[str, str]:
    """Every setting by one name and as text: the agent's and the schedule's first."""
    first = [name for name in ("agent", "schedule") if isinstance(config.get(name), Mapping)]
    nested = [n for n, v in config.items() if isinstance(v, Mapping) and n not in first]
    single = [n for n in config if n not in first and n not in nested]
    flat: dict[str, str] = {}
    for name in (*first, *single, *nested):
        value, words = config[name], name.replace("_", " ")
        if isinstance(value, Mapping):
            prefix = "" if name in first else f"{words} "
            flat |= {f"{prefix}{k}": text for k, text in flat_settings(value).items()}
        else:
            flat[words] = str(value)
    return flat


def load_evaluated(directory: Path) -> dict[str, np.ndarray]:
    """The metrics of a run that was evaluated at least once."""
    metrics = load_metrics(directory / METRICS_FILE)
    if not np.isfinite(metrics[RETURN]).any():
        raise UserError(f"{directory} holds no evaluation yet.")
    return metrics


def measure_column(runs: Sequence[Metrics]) -> str:
    """The column by which runs are judged: success where all of them report it, else return."""
    return SUCCESS if all(np.isfinite(run[SUCCESS]).any() for run in runs) else RETURN


def evaluation_measure(runs: Sequence[Metrics]) -> str:
    """What runs are judged by, in words."""
    return MEASURES[measure_column(runs)]


def evaluation_summary(
    runs: Sequence[Metrics], column: str | None = None
) -> tuple[list[float], list[float], list[float]]:
    """First, last and best evaluation of each run, by a column or the runs' measure."""
    column = column or measure_column(runs)
    values = [run[column][np.isfinite(run[column])] for run in runs]
    return (
        [float(v[0]) for v in values],
        [float(v[-1]) for v in values],
        [float(np.max(v)) for v in values],
    )


def standings(
    groups: Mapping[str, Sequence[Metrics]], thresholds: Sequence[float] = ()
) -> list[Standing]:
    """Every group's start, end, best and steps to each threshold, with intervals over runs."""
    column = measure_column([run for runs in groups.values() for run in runs])
    rows = []
    for name, runs in groups.items():
        start, end, best = (
            bootstrap_interval(np.array([values]).T) for values in evaluation_summary(runs, column)
        )
        curves = [measured(run, column) for run in runs]
        reached = tuple(
            median_steps(np.array([steps_to_threshold(*curve, level) for curve in curves]))
            for level in thresholds
        )
        done = sorted(int(run["env_steps"][-1]) for run in runs)
        rows.append(Standing(name, len(runs), (done[0], done[-1]), start, end, best, reached))
    return rows


def default_threshold(groups: Mapping[str, Sequence[Metrics]], share: float = 0.9) -> float:
    """A level to reach: this share of successes, or of the way from lowest start to best end."""
    rows = standings(groups)
    if measure_column([run for runs in groups.values() for run in runs]) == SUCCESS:
        return share
    start, best = min(row.start.estimate for row in rows), max(row.end.estimate for row in rows)
    return start + share * max(best - start, 0.0)
