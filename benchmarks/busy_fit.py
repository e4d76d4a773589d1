"""How much longer a fit takes on a busy machine: `nppac fit` alone, then beside busy processes.

    python benchmarks/busy_fit.py --task halfcheetah --demos FILE --record
    python benchmarks/busy_fit.py --fit-points 500 --flags="--max-steps 10"     # a short one

Wants an idle machine. The busy processes count in one Python thread each and are ended afterwards.
"""

import os
import resource
import shlex
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import tyro

from rounds import against, machine, require_idle, write_record

SPIN = "while True: pass"
MOST_RATIO = 4.0


@dataclass(frozen=True)
class Settings:
    task: str = "door"
    demos: str | None = None
    fit_points: int | None = None
    busy: int = 4
    """Processes that compete for the cores."""
    repeats: int = 1
    threads: int | None = None
    flags: str = ""
    """Further flags of `nppac fit`, in one argument."""
    warm: bool = True
    """Fit once before, so that both find the compiled programs."""
    record: bool = False
    """Write the record to `results/benchmarks`."""
    anyway: bool = False
    """Measure also where others are at work."""


@contextmanager
def busy_processes(count: int) -> Iterator[None]:
    running = [subprocess.Popen([sys.executable, "-c", SPIN]) for _ in range(count)]
    try:
        yield
    finally:
        for process in running:
            process.kill()
        for process in running:
            process.wait()


def fit_command(settings: Settings, out: Path) -> list[str]:
    words = [sys.executable, "-m", "nppac", "fit", "--task", settings.task, "--out", str(out)]
    for flag in ("demos", "fit_points", "threads"):
        value = getattr(settings, flag)
        words += [] if value is None else [f"--{flag.replace('_', '-')}", str(value)]
    return [*words, *shlex.split(settings.flags)]


def measured(settings: Settings) -> tuple[float, float]:
    """Seconds of a fit on the wall and of processors; no cache of fits may spare it."""
    with tempfile.TemporaryDirectory() as scratch:
        environment = {**os.environ, "NPPAC_CACHE": scratch}
        before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
        words = fit_command(settings, Path(scratch) / "reference.npz")
        subprocess.run(words, env=environment, check=True, capture_output=True)
        wall, after = time.monotonic() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return wall, cpu


def best_of(settings: Settings) -> tuple[float, float]:
    return min(measured(settings) for _ in range(settings.repeats))


def main(settings: Settings) -> None:
    host, share = machine(), require_idle(settings.anyway)
    if settings.warm:
        measured(settings)
    idle, idle_cpu = best_of(settings)
    print(f"alone:  {idle:6.1f} s, {idle_cpu:6.1f} s of processors", flush=True)
    with busy_processes(settings.busy):
        wall, cpu = best_of(settings)
    print(f"beside {settings.busy} busy processes: {wall:6.1f} s, {cpu:6.1f} s of processors")
    print(f"ratio {against(wall / idle, MOST_RATIO, at_most=True)}, cpu {cpu / idle_cpu:.2f}")
    facts = {**vars(settings), "demos": settings.demos and Path(settings.demos).name}
    seconds = {"alone": [idle, idle_cpu], "beside": [wall, cpu], "are": ["wall", "processors"]}
    if settings.record:
        about = {"settings": facts, "machine": host, "busy_before": share}
        write_record("busy_fit", {**about, "seconds": seconds, "ratio": wall / idle})


if __name__ == "__main__":
    main(tyro.cli(Settings, description=__doc__))
