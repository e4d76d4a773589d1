"""Runs side by side: by method, and each by its task's own measure."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from nppac.errors import UserError
from nppac.run_config import read_config


def group_by_method(directories: Sequence[Path]) -> dict[str, list[Path]]:
    """Runs of one task by the name of their method."""
    configs = [read_config(directory) for directory in directories]
    tasks = sorted({config.task for config in configs})
    if len(tasks) != 1:
        raise UserError(f"A comparison needs runs of one task; these are of {tasks}.")
    groups: dict[str, list[Path]] = {}
    for directory, config in zip(directories, configs, strict=True):
        groups.setdefault(config.method, []).append(directory)
    return groups


def evaluation_measure(runs: Sequence[Mapping[str, np.ndarray]]) -> str:
    """What runs are judged by: success where the task reports it, else return."""
    unknown = all(np.isnan(run["eval_success_any"]).all() for run in runs)
    return "return" if unknown else "success at any step"


def evaluation_summary(
    runs: Sequence[Mapping[str, np.ndarray]],
) -> tuple[list[float], list[float], list[float]]:
    """First, last and best evaluation of each run, by the task's measure."""
    measured = evaluation_measure(runs) == "success at any step"
    column = "eval_success_any" if measured else "eval_return_mean"
    values = [run[column][~np.isnan(run[column])] for run in runs]
    return (
        [float(v[0]) for v in values],
        [float(v[-1]) for v in values],
        [float(np.max(v)) for v in values],
    )
