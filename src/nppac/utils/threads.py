"""How many threads the libraries of a process use.

They read it once, when they are first imported. So it is set in the environment of a process that
is about to start, or before the first import in this one.
"""

import os
from collections.abc import Iterable

VARIABLES = (
    "OPENBLAS_NUM_THREADS",
    "OMP_NUM_THREADS",
    "MKL_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "NPROC",  # XLA's pool of threads
)


def thread_environment(threads: int) -> dict[str, str]:
    """The environment in which BLAS, OpenMP and XLA use at most so many threads."""
    return {name: str(threads) for name in VARIABLES}


def available_cores() -> tuple[int, ...]:
    """The cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return tuple(sorted(os.sched_getaffinity(0)))
    return tuple(range(os.cpu_count() or 1))


def pin_to(cores: Iterable[int]) -> None:
    """Keep this process and its threads to come on these cores, where the system can do that."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, set(cores))
