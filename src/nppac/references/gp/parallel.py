"""Work on rows in chunks, on several threads.

Chunks depend on the number of rows only, and results keep the order of their chunks: answers have
the same bits for any number of threads. Compiled and BLAS code lets other threads run meanwhile.
"""

import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from nppac.utils.errors import UserError

THREADS_VARIABLE = "NPPAC_THREADS"
"""Environment variable: most threads to use, for several processes that share a machine."""

Item = TypeVar("Item")
Result = TypeVar("Result")


def thread_count() -> int:
    """The cores that this process may run on, or fewer if the environment variable says so."""
    affinity = getattr(os, "sched_getaffinity", None)  # Linux has it, macOS does not
    cores = len(affinity(0)) if affinity else os.cpu_count() or 1
    limit = os.environ.get(THREADS_VARIABLE, "").strip()
    if not limit:
        return cores
    if not (limit.isdecimal() and int(limit) >= 1):
        raise UserError(f"{THREADS_VARIABLE} is '{limit}'; it must be a whole number, at least 1.")
    return min(cores, int(limit))


def map_threads(function: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
    """Results in the order of their items."""
    with ThreadPoolExecutor(thread_count()) as pool:
        yield from pool.map(function, items)


def map_chunks(n: int, sizes: tuple[int, ...], function: Callable[[slice, int], None]) -> None:
    """Call `function(chunk, size)` for all chunks of n rows; no chunk is longer than its size.

    Few sizes, so that what is compiled for a size is compiled seldom: the first that holds all n
    rows, or else the last one, repeatedly.
    """
    size = next((size for size in sizes if size >= n), sizes[-1])
    chunks = [slice(i, min(i + size, n)) for i in range(0, n, size)]
    if len(chunks) == 1:
        function(chunks[0], size)
        return
    list(map_threads(lambda chunk: function(chunk, size), chunks))
