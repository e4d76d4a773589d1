"""The records of runs that a report shows, of this version and of older ones."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from nppac.evaluation.compare import load_evaluated
from nppac.evaluation.metrics import METRICS_FILE
from nppac.training.config import plain_config
from nppac.training.directory import CONFIG_FILE
from nppac.utils.errors import UserError, nearest_path
from nppac.utils.files import read_json


@dataclass(frozen=True)
class Record:
    """What a run's directory says about it."""

    directory: Path
    name: str
    config: Mapping[str, object]
    metrics: Mapping[str, np.ndarray]
    command: str
    commit: str

    @property
    def task(self) -> str:
        """The task's name."""
        return str(self.config["task"])

    @property
    def method(self) -> str:
        """The method's name."""
        return str(self.config["method"])

    @property
    def seed(self) -> str:
        """The run's seed."""
        return str(self.config.get("seed", "-"))


def find_runs(directories: Sequence[str | Path]) -> list[Path]:
    """Directories of runs: those that are given, and all below those that are not runs."""
    found: dict[Path, Path] = {}
    for directory in map(Path, directories):
        if not directory.is_dir():
            raise UserError(f"There is no directory {directory}.{nearest_path(directory)}")
        configs = [directory / CONFIG_FILE, *sorted(directory.rglob(CONFIG_FILE))]
        runs = [config.parent for config in configs if (config.parent / METRICS_FILE).exists()]
        for run in runs:
            if (run / CONFIG_FILE).exists():
                found.setdefault(run.resolve(), run)
    if not found:
        if not directories:
            raise UserError("No run to report: name some directories, as in `nppac report runs`.")
        names = ", ".join(str(directory) for directory in directories)
        raise UserError(
            f"No run to report: a run's directory holds {CONFIG_FILE} and {METRICS_FILE}, "
            f"and there is none in {names}."
        )
    return list(found.values())


def read_records(runs: Sequence[Path]) -> tuple[list[Record], dict[str, str]]:
    """The records of runs, and why others cannot be shown, by their names."""
    records, left_out = [], {}
    for run in runs:
        try:
            records.append(_record(run))
        except UserError as error:
            left_out[_printable(run)] = str(error)
    if not records:
        name, reason = next(iter(left_out.items()))
        raise UserError(f"None of the {len(runs)} runs can be shown; {name}: {reason}")
    return records, left_out


def _record(run: Path) -> Record:
    stored = read_json(run / CONFIG_FILE)
    if not isinstance(stored, dict):
        raise UserError(f"{run / CONFIG_FILE} does not hold the configuration of a run.")
    source = stored.pop("provenance", None)
    source = source if isinstance(source, dict) else {}
    try:
        config = plain_config(run)
    except (UserError, TypeError, ValueError, AttributeError):
        config = stored  # a record of another version, shown as it is
    return Record(
        directory=run,
        name=_printable(run),
        config={"task": "unknown", "method": "unknown", **config},
        metrics=load_evaluated(run),
        command=str(source.get("command") or "not recorded"),
        commit=str(source.get("commit") or "not recorded"),
    )


def _printable(path: Path) -> str:
    """A path as text, also where its bytes are none."""
    return os.fsencode(path).decode(errors="replace")
