"""How many threads a process uses: its libraries' and its own.

Libraries read it once, when they are first imported. So it is set in the environment of a process
that is about to start, or before the first import in this one.
"""

import os
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from threading import Lock

from threadpoolctl import ThreadpoolController

from nppac.utils.errors import UserError

THREADS_VARIABLE = "NPPAC_THREADS"
"""Environment variable: most threads to use, for several processes that share a machine."""
VARIABLES = (
    THREADS_VARIABLE,
    "OPENBLAS_NUM_THREADS",
    "OMP_NUM_THREADS",
    "MKL_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "NPROC",  # XLA's pool of threads
)


def thread_environment(threads: int) -> dict[str, str]:
    """The environment in which BLAS, OpenMP, XLA and nppac use at most so many threads."""
    return {name: str(threads) for name in VARIABLES}


def available_cores() -> tuple[int, ...]:
    """The cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return tuple(sorted(os.sched_getaffinity(0)))
    return tuple(range(os.cpu_count() or 1))


def thread_count() -> int:
    """The cores that this process may use, or fewer if the environment variable says so."""
    cores = len(available_cores())
    limit = os.environ.get(THREADS_VARIABLE, "").strip()
    return min(cores, checked_count(THREADS_VARIABLE, limit)) if limit else cores


def checked_count(name: str, text: str) -> int:
    """A number of threads as someone wrote it; `name` is that of the option or the variable."""
    if not (text.isdecimal() and int(text) >= 1):
        raise UserError(f"{name} is '{text}'; it must be a whole number, at least 1.")
    return int(text)


@contextmanager
def bounded_threads(threads: int | None = None) -> Iterator[None]:
    """Bound what is imported and started from now on; by default as the environment variable says.

    Without any bound nothing changes. More threads than cores are never of use.
    """
    if threads is None and not os.environ.get(THREADS_VARIABLE, "").strip():
        yield
        return
    most = thread_count() if threads is None else min(threads, len(available_cores()))
    before = {name: os.environ.get(name) for name in VARIABLES}
    os.environ.update(thread_environment(most))
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


class _SingleBlas:
    """BLAS bound to one thread while anybody asks for it: the last one to leave ends it."""

    def __init__(self) -> None:
        self._lock, self._users, self._release = Lock(), 0, ExitStack()

    def enter(self) -> None:
        with self._lock:
            if not self._users:
                import scipy.linalg  # noqa: F401  # has a BLAS of its own, which JAX uses too

                limit = ThreadpoolController().limit(limits=1, user_api="blas")
                self._release.enter_context(limit)
            self._users += 1

    def leave(self) -> None:
        with self._lock:
            self._users -= 1
            if not self._users:
                self._release.close()


_single_blas = _SingleBlas()


@contextmanager
def single_blas_thread() -> Iterator[None]:
    """Let BLAS use no threads but those that call it, in this process and for the time being.

    Threads of BLAS wait for each other by spinning. Where other processes take the cores, each of
    their thousands of meetings takes a time slice. And sums then have the same bits for any number
    of threads.
    """
    _single_blas.enter()
    try:
        yield
    finally:
        _single_blas.leave()


def pin_to(cores: Iterable[int]) -> None:
    """Keep this process and its threads to come on these cores, where the system can do that."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, set(cores))
