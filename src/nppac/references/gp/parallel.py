"""Rows in parts of few sizes, worked on by all cores: what is compiled is compiled once a size."""

import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

_THREADS = min(4, os.cpu_count() or 1)

Task = TypeVar("Task")
Answer = TypeVar("Answer")


def on_all_cores(answer: Callable[[Task], Answer], tasks: Iterable[Task]) -> Iterator[Answer]:
    """Answers in the order of their tasks; what `answer` compiles or calls must let others run."""
    with ThreadPoolExecutor(_THREADS) as pool:
        yield from pool.map(answer, tasks)


def in_parts(n: int, sizes: tuple[int, ...], answer: Callable[[slice, int], None]) -> None:
    """Call `answer(part, size)` for all parts of n rows, on all cores; no part exceeds its size."""
    size = next((size for size in sizes if size >= n), sizes[-1])
    parts = [slice(i, min(i + size, n)) for i in range(0, n, size)]
    if len(parts) == 1:
        answer(parts[0], size)
        return
    list(on_all_cores(lambda part: answer(part, size), parts))
