"""The driver: gives an engine what is left to do, until nothing is."""

import signal
import sys
from collections import Counter
from collections.abc import Callable, Collection, Sequence

from nppac.sweeps.engine import Ended, Engine
from nppac.sweeps.job import FAILED, FINISHED, STOPPED, Job
from nppac.sweeps.journal import What, last_reason, note, read_journal
from nppac.sweeps.layout import SweepLayout
from nppac.sweeps.record import RunRecord
from nppac.sweeps.storage import Copies
from nppac.training.directory import CONFIG_FILE, REFERENCE_FILE, SUMMARY_FILE
from nppac.training.signals import stop_is_obeyed

TICK_SECONDS = 1.0
MOST_LOSSES = 5
"""How often a run may lose its machine, which is no fault of the run."""

Show = Callable[[Collection[str]], object]
"""Shows the states; is given the names of the runs and fits that workers are at."""


class Driver:
    """Decides what is to be done next; all that is done lies on the disk."""

    def __init__(self, copies: Copies, records: Sequence[RunRecord], retries: int):
        self.copies, self.layout = copies, SweepLayout(copies.root)
        self.retries = retries
        self.failed: Counter[Job] = Counter()
        self.lost: Counter[Job] = Counter()
        self.records = {record.name: record for record in records}
        self.left = [r for r in records if not (copies.root / r.name / SUMMARY_FILE).exists()]
        self.working: set[Job] = set()
        self.fitted: set[str] = set()

    def drive(self, engine: Engine, show: Show) -> None:
        """Do every job that is left; a run that fails too often is given up, and the rest goes on.

        Ctrl-C asks the workers to save their runs and waits for them; a second one ends them.
        """
        try:
            while self.left or self.working:
                self._submit(engine)
                for ended in engine.ended(TICK_SECONDS):
                    self._handle(ended)
                show(self.active())
        except KeyboardInterrupt:
            self._wind_down(engine, show)
            raise
        finally:
            engine.close()

    def active(self) -> set[str]:
        """Names of runs and keys of fits that workers are at."""
        return {job.name for job in self.working}

    def _submit(self, engine: Engine) -> None:
        waiting: list[RunRecord] = []
        for record in self.left:
            job = self._next_job(record)
            if len(self.working) >= engine.slots or job in self.working:
                waiting.append(record)
                continue
            engine.submit(job)
            self.working.add(job)
            if job.kind == "fit":
                waiting.append(record)
        self.left = waiting

    def _next_job(self, record: RunRecord) -> Job:
        """The run itself, or the fit that it waits for."""
        directory = self.copies.root / record.name
        begun = (directory / CONFIG_FILE).exists() and (directory / REFERENCE_FILE).exists()
        if record.fit is None or begun or record.fit in self.fitted:
            return Job("run", record.name)
        return Job("fit", record.fit)

    def _handle(self, ended: Ended) -> None:
        """Note how a job ended, and take it up again if it may be."""
        job, code = ended
        self.working.discard(job)
        self.copies.pull_states([job.name])  # how far the run came, and what its journal says
        if code == FINISHED:
            if job.kind == "fit":
                self.fitted.add(job.name)
            return
        again = self._may_be_repeated(job, code)
        if job.kind == "run" and again:
            self.left.append(self.records[job.name])
        elif job.kind == "fit" and not again:
            self._give_up_fit(job)

    def _may_be_repeated(self, job: Job, code: int | None) -> bool:
        if code is None:
            self.lost[job] += 1
            self._note(job.name, "lost", "its machine was lost")
            return self.lost[job] <= MOST_LOSSES
        if code != FAILED:
            how = "it was stopped" if code == STOPPED else _in_words(code)
            self._note(job.name, "failed", f"{how}; see {self.layout.log(job.name)}")
        self.failed[job] += 1
        return self.failed[job] <= self.retries

    def _note(self, name: str, what: What, reason: str) -> None:
        """Write down what the worker could not."""
        note(self.layout.journal(name), what, reason)
        self.copies.push(self.layout.journal(name))

    def _give_up_fit(self, job: Job) -> None:
        """The runs that wait for a reference which cannot be fitted fail for the same reason."""
        reason = last_reason(read_journal(self.layout.journal(job.name)))
        for record in [record for record in self.left if self._next_job(record) == job]:
            self._note(record.name, "failed", f"its reference failed: {reason}")
            self.left.remove(record)

    def _wind_down(self, engine: Engine, show: Show) -> None:
        stop_is_obeyed()
        self.left = []
        if self.working:
            print("Runs finish their epochs, then stop (Ctrl-C again stops now).", file=sys.stderr)
        engine.stop()
        while self.working:
            for ended in engine.ended(TICK_SECONDS):
                self.working.discard(ended.job)
            show(self.active())


def _in_words(code: int) -> str:
    if code < 0:
        hint = " (is there enough memory?)" if code == -signal.SIGKILL else ""
        return f"{signal.Signals(-code).name} ended it{hint}"
    return f"it exited with code {code}"
