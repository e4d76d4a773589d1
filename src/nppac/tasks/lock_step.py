"""One step of every environment, on several threads where that is faster.

MuJoCo lets other threads run while it simulates, and its environments share nothing, so their
episodes have the same bits on any number of threads.
"""

import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from typing import TypeVar

import gymnasium as gym

from nppac.tasks.simulator import only_simulates
from nppac.utils.threads import thread_count

Outcome = TypeVar("Outcome")

_SLOW_STEP = 3e-4
"""Seconds of a step from which threads pay. Measured on two cores: the door's 0.4 ms halve,
0.3 ms of pen and Ant, where Python has a larger part, stay, and HalfCheetah's 0.08 ms double."""
_MOST_THREADS = 4
"""Between simulations each needs the interpreter, which serves one at a time."""


class LockStep(AbstractContextManager["LockStep"]):
    """Makes the steps that it is given, and returns when all are done."""

    def __init__(self, envs: Sequence[gym.Env]):
        wanted = min(thread_count(), _MOST_THREADS, len(envs))
        self._threads = wanted if all(map(only_simulates, envs)) else 1
        self._pool: ThreadPoolExecutor | None = None

    def __call__(self, steps: Sequence[Callable[[], Outcome]]) -> list[Outcome]:
        """The results in the order of the steps; the first call measures how long one takes."""
        if self._pool is not None:
            n = self._threads
            futures = [self._pool.submit(_in_turn, steps[k::n]) for k in range(n)]
            return [futures[i % n].result()[i // n] for i in range(len(steps))]
        began = time.perf_counter()
        results = _in_turn(steps)
        if self._threads > 1 and time.perf_counter() - began > _SLOW_STEP * len(steps):
            self._pool = ThreadPoolExecutor(self._threads)
        return results

    def __exit__(self, *_: object) -> None:
        if self._pool is not None:
            self._pool.shutdown()


def _in_turn(steps: Sequence[Callable[[], Outcome]]) -> list[Outcome]:
    return [step() for step in steps]
