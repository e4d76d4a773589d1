"""Cores for each worker: its share of those of this machine, or what no other worker has."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from nppac.utils.threads import available_cores


def shares(cores: tuple[int, ...], runs: int, threads: int | None) -> list[tuple[int, ...]]:
    """The cores in equal shares: of `threads` each, or as many shares as there are runs."""
    size = threads or max(1, len(cores) // max(1, min(runs, len(cores))))
    size = min(size, len(cores))
    count = max(1, min(len(cores) // size, runs))
    return [cores[i * size : (i + 1) * size] for i in range(count)]


@contextmanager
def claimed_cores(count: int) -> Iterator[tuple[int, ...]]:
    """Cores of this machine that no other worker of this user has claimed.

    Where there are too few, others are shared: their number matters more than which they are.
    """
    cores = available_cores()
    count = min(count, len(cores))
    folder = Path(tempfile.gettempdir()) / f"nppac-cores-{os.getuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    with ExitStack() as held:
        free: list[int] = []
        for core in cores:
            if len(free) < count and _claim(folder, core, held):
                free.append(core)
        rest = [core for core in cores if core not in free]
        start = os.getpid() % max(1, len(rest))
        yield tuple(sorted([*free, *rest[start:], *rest[:start]][:count]))


def _claim(folder: Path, core: int, held: ExitStack) -> bool:
    """Claim a core until `held` ends; the system ends the claim of a dead process."""
    lock = FileLock(folder / str(core), blocking=False)
    try:
        lock.acquire()
    except (Timeout, OSError):
        return False
    held.callback(lock.release)
    return True
