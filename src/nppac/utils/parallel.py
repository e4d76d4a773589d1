"""Work on rows in chunks, on several threads.

Chunks depend on the number of rows only, and results keep the order of their chunks: answers have
the same bits for any number of threads. Compiled and BLAS code lets other threads run meanwhile.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from nppac.utils.threads import thread_count

Item = TypeVar("Item")
Result = TypeVar("Result")


def map_threads(function: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
    """Results in the order of their items."""
    with ThreadPoolExecutor(thread_count()) as pool:
        yield from pool.map(function, items)


def map_all(function: Callable[[Item], Result], items: Sequence[Item]) -> list[Result]:
    """All results, once all are there; a single item needs no other thread."""
    return list(map_threads(function, items) if len(items) > 1 else map(function, items))


def map_chunks(n: int, sizes: tuple[int, ...], function: Callable[[slice, int], None]) -> None:
    """Call `function(chunk, size)` for all chunks of n rows; no chunk is longer than its size.

    Few sizes, so that what is compiled for a size is compiled seldom: the first that holds all n
    rows, or else the last one, repeatedly.
    """
    size = next((size for size in sizes if size >= n), sizes[-1])
    chunks = [slice(i, min(i + size, n)) for i in range(0, n, size)]
    map_all(lambda chunk: function(chunk, size), chunks)
