"""The local engine: worker processes, each pinned to its share of this machine's cores."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from nppac.sweeps.engine import Ended
from nppac.sweeps.job import Job
from nppac.sweeps.layout import SweepLayout
from nppac.utils.threads import thread_environment

POLL_SECONDS = 0.1
GRACE_SECONDS = 10.0


def worker_command(location: str, job: Job, cores: Sequence[int]) -> list[str]:
    """How a worker is started."""
    words = [sys.executable, "-m", "nppac.sweeps.worker", location, job.kind, job.name]
    return [*words, "--cores", ",".join(map(str, cores))]


def start_worker(location: str, root: Path, job: Job, cores: Sequence[int]) -> subprocess.Popen:
    """A worker that ends when this process does, and prints to its log.

    Its standard input is a pipe that closes with this process. In a process group of its own,
    Ctrl-C reaches it through the driver alone.
    """
    log = SweepLayout(root).log(job.name)
    log.parent.mkdir(parents=True, exist_ok=True)
    with open(log, "ab") as out:
        return subprocess.Popen(
            worker_command(location, job, cores),
            stdin=subprocess.PIPE,
            stdout=out,
            stderr=out,
            env={**os.environ, **thread_environment(len(cores))},
            process_group=0,
        )


class LocalEngine:
    """Runs as processes of this machine, one for each share of the cores."""

    def __init__(self, location: str, root: Path, shares: Sequence[tuple[int, ...]]):
        self.location, self.root = location, root
        self.free = list(shares)
        self.slots = len(shares)
        self.working: dict[Job, tuple[subprocess.Popen, tuple[int, ...]]] = {}

    def submit(self, job: Job) -> None:
        """Start a worker on a free share."""
        cores = self.free.pop(0)
        self.working[job] = start_worker(self.location, self.root, job, cores), cores

    def ended(self, seconds: float) -> list[Ended]:
        """The workers that have exited."""
        give_up = time.monotonic() + seconds
        while True:
            done = [job for job, (process, _) in self.working.items() if process.poll() is not None]
            if done or not self.working or time.monotonic() > give_up:
                return [self._collect(job) for job in done]
            time.sleep(POLL_SECONDS)

    def _collect(self, job: Job) -> Ended:
        process, cores = self.working.pop(job)
        self.free.append(cores)
        if process.stdin:
            process.stdin.close()
        return Ended(job, process.returncode)

    def stop(self) -> None:
        """Ask every worker to finish its epoch and save."""
        for process, _ in self.working.values():
            process.send_signal(signal.SIGTERM)

    def close(self) -> None:
        """End the workers that are left."""
        for process, _ in self.working.values():
            if process.stdin:
                with suppress(OSError):
                    process.stdin.close()  # its end ends them
        for process, _ in self.working.values():
            try:
                process.wait(GRACE_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        self.working.clear()
