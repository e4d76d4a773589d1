"""Whole sweeps of the toy task as users start them: a driver and its workers as processes."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from nppac.sweeps.journal import read_journal
from nppac.sweeps.layout import SweepLayout
from toy_task import TASK

from .toy_sweep import SETTINGS

TESTS = Path(__file__).parents[1]


def write_plan(folder: Path, demos: Path, seeds: str) -> Path:
    """Short runs that share a reference for each seed."""
    settings = {**SETTINGS, "steps": 100, "demos": str(demos)}
    variants = {"base": {}, "rare": {"checkpoint_every": 40}}
    facts = {"methods": ["nppac"], "tasks": [TASK], "seeds": seeds, "settings": settings}
    path = folder / "plan.yaml"
    path.write_text(json.dumps({**facts, "variants": variants, "threads_per_run": 1}))
    return path


def start_sweep(plan: Path, out: Path, *flags: str) -> subprocess.Popen:
    """The command, in a process of its own; what it prints goes to a file beside `out`."""
    words = ["sweep", str(plan), "--trust", "--out", str(out), *flags]
    source = str(TESTS.parent / "src")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([source, str(TESTS)])}
    with open(out.with_suffix(".log"), "ab") as log:
        words = [sys.executable, "-m", "nppac", *words]
        return subprocess.Popen(words, stdout=log, stderr=log, env=environment)


def finish(process: subprocess.Popen, out: Path) -> None:
    assert process.wait(1800) == 0, out.with_suffix(".log").read_text()


def wait_until(true: Callable[[], bool], process: subprocess.Popen, out: Path) -> None:
    give_up = time.monotonic() + 900
    while not true():
        assert process.poll() is None, out.with_suffix(".log").read_text()
        assert time.monotonic() < give_up, out.with_suffix(".log").read_text()
        time.sleep(0.1)


def finished(out: Path) -> set[str]:
    return {path.parent.name for path in out.glob("*/summary.json")}


def whats(out: Path, name: str) -> list[str]:
    return [event.what for event in read_journal(SweepLayout(out).journal(name))]


def kept(out: Path) -> dict[str, tuple[int, bytes]]:
    """What must not change of the runs that are finished."""
    paths = [path for name in finished(out) for path in (out / name).glob("*.json")]
    return {str(path): (path.stat().st_mtime_ns, path.read_bytes()) for path in paths}


def workers_of(out: Path) -> list[int]:
    """Processes that work for a sweep."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            words = (entry / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if b"nppac.sweeps.worker" in words and str(out.resolve()).encode() in words:
            found.append(int(entry.name))
    return found


def kill_driver_and_finish(plan: Path, out: Path, runs: int, *flags: str) -> None:
    """SIGKILL the driver when a run is finished and another has begun; the same command again."""
    driver = start_sweep(plan, out, *flags)
    wait_until(lambda: 0 < len(finished(out)) < runs and workers_of(out) != [], driver, out)
    driver.send_signal(signal.SIGKILL)
    driver.wait()
    give_up = time.monotonic() + 120
    while workers_of(out):
        assert time.monotonic() < give_up, "workers outlive their driver"
        time.sleep(0.1)
    before = kept(out)
    assert 0 < len(finished(out)) < runs
    finish(start_sweep(plan, out, *flags), out)
    assert len(finished(out)) == runs
    assert {path: facts for path, facts in kept(out).items() if path in before} == before
    for name in finished(out):
        assert whats(out, name).count("finished") <= 1


@contextmanager
def ray_cluster(nodes: int) -> Iterator:
    """A real cluster of so many nodes with one CPU each, on this machine."""
    from ray.cluster_utils import Cluster

    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1})
    try:
        for _ in range(nodes - 1):
            cluster.add_node(num_cpus=1)
        yield cluster
    finally:
        cluster.shutdown()
