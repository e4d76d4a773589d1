"""How long a plan will take, from the rates of runs that are on the disk."""

import statistics
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from nppac.sweeps.plan import PlannedRun
from nppac.training.config import RunConfig, plain_config
from nppac.training.directory import SUMMARY_FILE
from nppac.utils.errors import UserError
from nppac.utils.files import read_json_object

MOST_RECORDS = 2_000
DECISIVE = ("batch_size", "updates_per_step", "utd_ratio", "num_qs")
"""Settings that the time of a step hangs on most."""


class TimedRun(NamedTuple):
    """A run that was timed."""

    task: str
    method: str
    seconds_per_step: float
    decisive: tuple[object, ...]
    folder: Path


class TimeEstimate(NamedTuple):
    """How long one run takes."""

    seconds: float
    source: str
    """Where the rate is from."""


def timed_runs(folders: Iterable[Path]) -> list[TimedRun]:
    """The finished runs below some folders that exist."""
    found: list[TimedRun] = []
    for folder in folders:
        for path in sorted(folder.rglob(SUMMARY_FILE))[:MOST_RECORDS] if folder.is_dir() else ():
            run = _timed(path.parent)
            found += [] if run is None else [run]
    return found


def _timed(directory: Path) -> TimedRun | None:
    try:
        summary, config = read_json_object(directory / SUMMARY_FILE), plain_config(directory)
    except UserError:
        return None
    steps, seconds = summary.get("env_steps"), summary.get("wall_seconds")
    if not isinstance(steps, int | float) or not isinstance(seconds, int | float):
        return None
    if steps <= 0 or seconds <= 0:
        return None
    task, method = str(summary.get("task")), str(summary.get("method"))
    parts = [config.get(part) for part in ("schedule", "agent")]
    values = {k: v for part in parts if isinstance(part, dict) for k, v in part.items()}
    decisive = tuple(values.get(name) for name in DECISIVE)
    return TimedRun(task, method, seconds / steps, decisive, directory.parent)


def estimate(config: RunConfig, known: Sequence[TimedRun]) -> TimeEstimate | None:
    """The time of a run by the median rate of its like; None where nothing like it was timed."""
    alike = [run for run in known if (run.task, run.method) == (config.task, config.method)]
    own = tuple(
        getattr(config.schedule, name, getattr(config.agent, name, None)) for name in DECISIVE
    )
    same = [run for run in alike if run.decisive == own]
    used = same or alike
    if not used:
        return None
    rate = statistics.median(run.seconds_per_step for run in used)
    folders = ", ".join(sorted({str(run.folder) for run in used})[:2])
    other = "" if same else ", other batch or updates"
    count = f"{len(used)} run{'' if len(used) == 1 else 's'}"
    return TimeEstimate(rate * config.schedule.steps, f"{count} in {folders}{other}")


def total_seconds(runs: Sequence[PlannedRun], known: Sequence[TimedRun], side: int) -> float | None:
    """The time of all runs, so many side by side; None where the time of one is unknown."""
    each = [estimate(run.config, known) for run in runs]
    seconds = [found.seconds for found in each if found is not None]
    if len(seconds) < len(each):
        return None
    return max(sum(seconds) / max(side, 1), max(seconds, default=0.0))
