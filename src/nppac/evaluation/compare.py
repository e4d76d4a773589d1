"""Runs side by side: by method and settings, and each by its task's own measure."""

import copy
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from nppac.utils.errors import UserError

Config = Mapping[str, Any]
"""A run's configuration, as `config.json` holds it."""


def group_runs(configs: Mapping[Path, Config]) -> dict[str, list[Path]]:
    """Runs of one task by their method, and by what else sets runs of one method apart.

    `configs` holds each run's configuration as plain data.
    """
    if not configs:
        raise UserError("No run to compare: name the directories of some, such as runs/door-*.")
    tasks = sorted({config["task"] for config in configs.values()})
    if len(tasks) != 1:
        raise UserError(f"A comparison needs runs of one task; these are of {tasks}.")
    groups: dict[str, list[Path]] = {}
    for directory, config in configs.items():
        method = config["method"]
        alike = [_settings(other) for other in configs.values() if other["method"] == method]
        groups.setdefault(_name(method, _settings(config), alike), []).append(directory)
    return groups


def _name(method: str, own: Mapping[str, str], alike: Sequence[Mapping[str, str]]) -> str:
    """The method, and each setting that most of the method's runs have otherwise."""
    usual = {name: Counter(run[name] for run in alike).most_common(1)[0][0] for name in own}
    unusual = [f"{name} {value}" for name, value in own.items() if value != usual[name]]
    return ", ".join([method, *unusual])


def _settings(config: Config) -> dict[str, str]:
    """What a run learned by, without how long it did and how it was watched."""
    plain = copy.deepcopy(dict(config))
    parts = {name: plain.pop(name) for name in ("agent", "schedule", "gp", "network")}
    for name in ("seed", "task", "method"):
        del plain[name]
    plain["demos"] = plain["demos"] and Path(plain["demos"]).name  # wherever that file lies
    for name in ("steps", "eval_every", "eval_episodes", "eval_envs", "checkpoint_every"):
        del parts["schedule"][name]
    own = parts["agent"] | parts["schedule"] | plain
    for part in ("gp", "network"):
        own |= {f"{part} {name}": value for name, value in parts[part].items()}
    return {name.replace("_", " "): str(value) for name, value in own.items()}


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
