"""The state of every run of a sweep, read from its directory alone."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np

from nppac.evaluation.metrics import METRICS_FILE, load_metrics
from nppac.sweeps.journal import failures, last_reason, read_journal
from nppac.sweeps.layout import SweepLayout
from nppac.sweeps.record import RunRecord
from nppac.training.directory import CONFIG_FILE, SUMMARY_FILE
from nppac.utils.errors import UserError
from nppac.utils.locks import is_locked

RunState = Literal["waiting", "fitting", "running", "stopped", "failed", "finished"]
RECENT = 5
"""Epochs that the rate of a run is taken from."""


@dataclass(frozen=True)
class RunStatus:
    """Where a run stands."""

    name: str
    state: RunState
    steps: int
    """Environment steps done."""
    total: int
    rate: float | None
    """Environment steps a second, of late."""
    score: str
    """Success or return at the newest evaluation."""
    failures: int
    reason: str
    """Why it failed the last time."""

    @property
    def seconds_left(self) -> float | None:
        """Until its end at its rate; None where that is not known."""
        if self.state == "finished":
            return 0.0
        return (self.total - self.steps) / self.rate if self.rate else None


def read_status(
    root: Path, records: Sequence[RunRecord], active: Collection[str] | None = None
) -> list[RunStatus]:
    """The states of all runs.

    `active` names what workers are at, if the caller knows: runs, and keys of fits. Without it, a
    run whose directory is locked is running.
    """
    return [run_status(root, record, active) for record in records]


def run_status(root: Path, record: RunRecord, active: Collection[str] | None = None) -> RunStatus:
    """The state of one run."""
    directory = root / record.name
    events = read_journal(SweepLayout(root).journal(record.name))
    steps, rate, score = _progress(directory / METRICS_FILE)
    return RunStatus(
        name=record.name,
        state=_state(directory, record, active, events[-1].what if events else ""),
        steps=steps,
        total=_total(record),
        rate=rate,
        score=score,
        failures=failures(events),
        reason=last_reason(events),
    )


def _state(
    directory: Path, record: RunRecord, active: Collection[str] | None, last: str
) -> RunState:
    if (directory / SUMMARY_FILE).exists():
        return "finished"
    begun = last in ("started", "resumed")
    if is_locked(directory) if active is None else record.name in active and begun:
        return "running"
    if active is not None and record.fit in active:
        return "fitting"
    if active is not None and record.name in active:  # an engine may queue it
        return "waiting"
    if last in ("failed", "lost"):
        return "failed"
    return "stopped" if (directory / CONFIG_FILE).exists() else "waiting"


def _total(record: RunRecord) -> int:
    schedule = record.config.get("schedule")
    steps = schedule.get("steps") if isinstance(schedule, dict) else None
    return steps if isinstance(steps, int) else 0


def _progress(path: Path) -> tuple[int, float | None, str]:
    """Steps, steps a second of late, and the newest evaluation."""
    if not path.exists():
        return 0, None, ""
    try:
        metrics = load_metrics(path)
    except UserError:  # it is complained of where the run is continued
        return 0, None, ""
    steps, seconds = metrics["env_steps"], metrics["wall_seconds"]
    if not len(steps):
        return 0, None, ""
    first = max(0, len(steps) - 1 - RECENT)
    took = seconds[-1] - seconds[first]
    rate = float((steps[-1] - steps[first]) / took) if took > 0 and steps[-1] else None
    return int(steps[-1]), rate, _score(metrics)


def _score(metrics: dict[str, np.ndarray]) -> str:
    for column, shape in (("eval_success_any", "{:.0%}"), ("eval_return_mean", "{:,.1f}")):
        known = metrics[column][~np.isnan(metrics[column])]
        if len(known):
            return shape.format(known[-1])
    return ""
