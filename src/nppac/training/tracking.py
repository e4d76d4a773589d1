"""The metrics of a run in TensorBoard or Weights & Biases, beside `metrics.csv` and named as there.

A resumed run continues the log that it has. Rows that the log lacks, such as the first evaluation,
are taken from `metrics.csv`. A tracker that fails while a run goes on is told and left; the run is
not harmed by it.
"""

import math
import os
import secrets
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Literal, NamedTuple

from nppac.evaluation.metrics import METRICS_FILE, load_metrics
from nppac.training.directory import CONFIG_FILE
from nppac.training.loop import Callback
from nppac.utils.errors import UserError
from nppac.utils.files import read_json_object, write_json

Tracker = Literal["tensorboard", "wandb"]
TENSORBOARD_DIRECTORY = "tensorboard"
WANDB_DIRECTORY = "wandb"
WANDB_FILE = "wandb.json"
"""Holds the id by which Weights & Biases knows the run."""
STEP = "env_steps"

LoggedRow = Mapping[str, float]


class Log(NamedTuple):
    """An open log: writes what was measured at a step, and is closed."""

    write: Callable[[int, LoggedRow], object]
    close: Callable[[], object]


@contextmanager
def tracking(
    tracker: Tracker | None, directory: Path, *, required: bool = True
) -> Iterator[Callback | None]:
    """A callback of the training loop that logs each row; None where nobody asked for one.

    A tracker that is not installed is an error, or if it is not `required`, a note.
    """
    if tracker is None or not is_installed(tracker, required):
        yield None
        return
    session = _Session(tracker, directory)
    try:
        yield session.row
    finally:
        session.close()


def tracker_of(directory: Path) -> Tracker | None:
    """The tracker that has a log of this run."""
    if (directory / WANDB_FILE).exists():
        return "wandb"
    return "tensorboard" if (directory / TENSORBOARD_DIRECTORY).is_dir() else None


class _Session:
    """The log of one process; it is opened with the first row, when the run's files are there."""

    def __init__(self, tracker: Tracker, directory: Path):
        self._tracker: Tracker = tracker
        self._directory = directory
        self._log: Log | None = None
        self._failed = False

    def row(self, row: Mapping[str, float | None]) -> None:
        """Log a row of the metrics."""
        if not self._failed:
            self._attempt(lambda: self._write(row))

    def close(self) -> None:
        """Finish the log, also one that failed before."""
        if self._log is not None:
            self._attempt(self._log.close)

    def _write(self, row: Mapping[str, float | None]) -> None:
        step = int(row[STEP] or 0)
        if self._log is None:
            begun = tracker_of(self._directory) == self._tracker
            self._log = _OPEN[self._tracker](self._directory, step)
            for earlier in () if begun else _rows(self._directory, step):
                self._log.write(int(earlier[STEP]), earlier)
        self._log.write(step, _measured(row))

    def _attempt(self, work: Callable[[], object]) -> None:
        try:
            work()
        except Exception as error:  # whatever a tracker raises, the run is worth more
            self._failed = True
            print(f"{self._tracker} failed and logs no more: {error}", file=sys.stderr)


def _rows(directory: Path, before: int) -> Iterator[LoggedRow]:
    """The rows of the metrics up to a step."""
    columns = load_metrics(directory / METRICS_FILE)
    for i, step in enumerate(columns[STEP]):
        if step < before:
            yield _measured({name: float(values[i]) for name, values in columns.items()})


def _measured(row: Mapping[str, float | None]) -> dict[str, float]:
    return {k: float(v) for k, v in row.items() if v is not None and not math.isnan(v)}


def is_installed(tracker: Tracker, required: bool = True) -> bool:
    """Whether the tracker can be imported; found out before anything is computed.

    One that is `required` and cannot be is an error.
    """
    try:
        if tracker == "tensorboard":
            import tensorboardX  # noqa: F401
        else:
            import wandb  # noqa: F401
    except ImportError as error:
        told = (
            f"--track {tracker} needs a package that is not installed ({error.name}). Install it "
            "with: pip install 'nppac[tracking]'"
        )
        if required:
            raise UserError(told) from error
        print(f"The run's log is not continued: {told}", file=sys.stderr)
        return False
    return True


def _open_tensorboard(directory: Path, step: int) -> Log:
    from tensorboardX import SummaryWriter

    # What a killed process logged beyond its checkpoint is logged again. Files of one second would
    # have one name but for the step.
    how = {"purge_step": step, "filename_suffix": f".{step:012d}"}
    writer = SummaryWriter(str(directory / TENSORBOARD_DIRECTORY), **how)

    def write(step: int, values: LoggedRow) -> None:
        for name, value in values.items():
            if name != STEP:
                writer.add_scalar(name, value, step)
        writer.flush()

    return Log(write, writer.close)


def _open_wandb(directory: Path, step: int) -> Log:
    import wandb

    known = directory / WANDB_FILE
    if not known.exists():
        write_json(known, {"id": secrets.token_hex(4)})
    config = read_json_object(directory / CONFIG_FILE)
    run = wandb.init(
        project="nppac",
        name=directory.name,
        id=str(read_json_object(known)["id"]),
        dir=str(directory),
        config={name: value for name, value in config.items() if name != "provenance"},
        # Without an account everything stays here; `wandb sync` uploads it later.
        mode="online" if os.environ.get("WANDB_MODE") == "online" else "offline",
        resume="allow",
        settings=wandb.Settings(silent=True, console="off", disable_git=True, save_code=False),
    )
    return Log(lambda step, values: run.log(dict(values), step=step), run.finish)


_OPEN: dict[Tracker, Callable[[Path, int], Log]] = {
    "tensorboard": _open_tensorboard,
    "wandb": _open_wandb,
}
