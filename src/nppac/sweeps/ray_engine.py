"""The Ray engine: the same workers on the machines of a cluster."""

import importlib
import os
import subprocess
from contextlib import suppress
from pathlib import Path
from typing import Any

from nppac.sweeps.cores import claimed_cores
from nppac.sweeps.engine import Ended
from nppac.sweeps.job import Job
from nppac.sweeps.local import start_worker
from nppac.sweeps.storage import copies_of
from nppac.utils.errors import UserError

FORWARDED = ("PYTHONPATH", "XDG_STATE_HOME", "XDG_CACHE_HOME")
"""Variables that workers have from the driver, so that they find the same modules."""


def run_worker(
    location: str, job: tuple[str, str], threads: int, folder: str, environment: dict[str, str]
) -> int:
    """What a node of the cluster does: a worker in a process of its own, on cores of its own."""
    os.environ.update(environment)
    with suppress(OSError):  # another machine may not have the directory
        os.chdir(folder)
    kind, name = job
    with claimed_cores(threads) as cores:
        work = Job("fit" if kind == "fit" else "run", name)
        process = start_worker(location, copies_of(location).root, work, cores)
        try:
            return process.wait()
        finally:
            _end(process)


def _end(process: subprocess.Popen) -> None:
    if process.poll() is None and process.stdin:
        process.stdin.close()
        process.wait()


class RayEngine:
    """Runs as tasks of a Ray cluster; Ray decides where each goes."""

    slots = 10_000
    """Ray queues what it cannot do yet."""

    def __init__(self, location: str, address: str | None, threads: int, gpus: float):
        self.ray = _ray()
        self.location, self.threads = location, threads
        self._connect(address)
        self._check_room(threads, gpus)
        task = self.ray.remote(num_cpus=threads, num_gpus=gpus, max_retries=0)
        self.task = task(run_worker)
        self.working: dict[Any, Job] = {}
        self.environment = {name: os.environ[name] for name in FORWARDED if name in os.environ}

    def _connect(self, address: str | None) -> None:
        self.own = not self.ray.is_initialized()
        if not self.own:
            return
        try:
            self.ray.init(address=address, log_to_driver=False, logging_level="ERROR")
        except (ConnectionError, ValueError, RuntimeError) as error:
            reason = " ".join(str(error).split())[:200]
            raise UserError(f"Cannot reach a Ray cluster at {address}: {reason}") from error

    def _check_room(self, threads: int, gpus: float) -> None:
        """Refuse what no node of the cluster can ever do: Ray would wait for ever."""
        nodes = [node["Resources"] for node in self.ray.nodes() if node["Alive"]]
        fits = [n for n in nodes if n.get("CPU", 0) >= threads and n.get("GPU", 0) >= gpus]
        if not fits:
            most = max((node.get("CPU", 0) for node in nodes), default=0)
            raise UserError(
                f"No node of the cluster has {threads} CPUs and {gpus:g} GPUs for a run; the "
                f"largest has {most:g} CPUs. Give fewer --threads-per-run or --gpus."
            )

    def submit(self, job: Job) -> None:
        """Hand the job to Ray."""
        here = str(Path.cwd())
        arguments = (self.location, tuple(job), self.threads, here, self.environment)
        self.working[self.task.remote(*arguments)] = job

    def ended(self, seconds: float) -> list[Ended]:
        """The tasks that have ended; one whose node died has no code."""
        if not self.working:
            return []
        done, _ = self.ray.wait(list(self.working), num_returns=1, timeout=seconds)
        return [Ended(self.working.pop(reference), self._code(reference)) for reference in done]

    def _code(self, reference: Any) -> int | None:
        try:
            return self.ray.get(reference)
        except self.ray.exceptions.RayTaskError as error:  # of the task's own code
            raise UserError(f"A worker could not be started: {error.cause}.") from error
        except self.ray.exceptions.RayError:
            return None

    def stop(self) -> None:
        """End the workers; their runs continue from their checkpoints."""
        for reference in self.working:
            self.ray.cancel(reference, force=True)

    def close(self) -> None:
        """Leave the cluster."""
        self.stop()
        if self.own:
            self.ray.shutdown()


def _ray() -> Any:
    try:
        return importlib.import_module("ray")
    except ImportError as error:
        raise UserError("The engine 'ray' needs: pip install 'nppac[cluster]'") from error
