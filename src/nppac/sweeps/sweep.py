"""A sweep from its plan to its end."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

from nppac.sweeps.checks import check_runs
from nppac.sweeps.cores import shares
from nppac.sweeps.drive import Driver
from nppac.sweeps.engine import Engine
from nppac.sweeps.layout import SweepLayout
from nppac.sweeps.local import LocalEngine
from nppac.sweeps.plan import PlannedRun
from nppac.sweeps.record import Manner, RunRecord, read_record, write_record
from nppac.sweeps.status import RunStatus, read_status
from nppac.sweeps.storage import Copies, copies_of
from nppac.sweeps.table import showing
from nppac.training.signals import stopping_at_once
from nppac.training.tracking import Tracker, is_installed
from nppac.utils.errors import UserError, unknown_name
from nppac.utils.locks import directory_lock
from nppac.utils.threads import available_cores, thread_count

EngineName = Literal["local", "ray"]


@dataclass(frozen=True)
class SweepOptions:
    """How a sweep is run; nothing of this changes what it runs."""

    engine: str = "local"
    """local: processes on this machine. ray: a Ray cluster."""
    address: str | None = None
    """Of the Ray cluster, such as auto or 10.0.0.1:6379; by default one on this machine."""
    workers: int | None = None
    """Runs side by side on this machine; by default, and at most, as many as the cores allow."""
    threads_per_run: int | None = None
    """Cores of each run; by default they are divided among the runs, with Ray 1."""
    gpus: float = 0.0
    """GPUs of each run, with Ray."""
    retries: int = 1
    """How often a run that fails is tried again."""
    refit: bool = False
    """Fit references even if the same were fitted before."""
    track: Tracker | None = None
    """Also log the metrics of every run for TensorBoard, or for Weights & Biases, offline."""

    def __post_init__(self) -> None:
        if self.engine not in get_args(EngineName):
            raise unknown_name("engine", self.engine, get_args(EngineName))
        if self.engine == "local" and (self.address is not None or self.gpus):
            raise UserError("--address and --gpus are of the engine 'ray': add --engine ray.")
        for name, least in (("workers", 1), ("threads_per_run", 1), ("retries", 0), ("gpus", 0)):
            value = getattr(self, name)
            if value is not None and value < least:
                raise UserError(f"'{name}' is {value}; it must be at least {least}.")
        wanted, cores = self.threads_per_run or 1, thread_count()
        if self.engine == "local" and wanted > cores:
            raise UserError(f"'threads_per_run' is {wanted}, but there are {cores} cores.")


def run_sweep(runs: Sequence[PlannedRun], location: str, options: SweepOptions) -> list[RunStatus]:
    """Bring every run to its end; the states that they have then.

    Finished runs are left alone, and others are continued from their checkpoints.
    """
    check_runs(runs)
    if options.track is not None:
        is_installed(options.track)
    copies = copies_of(location)
    manner = Manner(options.track, options.refit)
    with stopping_at_once(), directory_lock(SweepLayout(copies.root).folder):
        copies.pull_states([run.name for run in runs])
        records = write_record(copies.root, runs, manner)
        copies.push(SweepLayout(copies.root).plan)
        driver = Driver(copies, records, options.retries)
        if driver.left:
            with showing(lambda active: _states(copies, records, active)) as show:
                driver.drive(make_engine(copies, len(runs), options), show)
        return _states(copies, records, ())


def make_engine(copies: Copies, runs: int, options: SweepOptions) -> Engine:
    """The engine that the options name; only Ray's own imports Ray."""
    location = copies.url or str(copies.root.resolve())
    if options.engine == "ray":
        from nppac.sweeps.ray_engine import RayEngine

        return RayEngine(location, options.address, options.threads_per_run or 1, options.gpus)
    return LocalEngine(location, copies.root, local_shares(runs, options))


def local_shares(runs: int, options: SweepOptions) -> list[tuple[int, ...]]:
    """The cores of each worker on this machine."""
    most = min(runs, options.workers or runs)
    return shares(available_cores()[: thread_count()], most, options.threads_per_run)


def sweep_status(location: str) -> list[RunStatus]:
    """The states of a sweep's runs, read from its directory or URL."""
    copies = copies_of(location)
    copies.pull_plan()
    records = read_record(copies.root)
    copies.pull_states([record.name for record in records])
    return read_status(copies.root, records, None if copies.url is None else ())


def _states(
    copies: Copies, records: Sequence[RunRecord], active: Collection[str]
) -> list[RunStatus]:
    if copies.url is not None:
        copies.pull_states([record.name for record in records if record.name in active])
    return read_status(copies.root, records, active)


def local_root(location: str) -> Path:
    """Where the runs of a location are, on this machine."""
    return copies_of(location).root
