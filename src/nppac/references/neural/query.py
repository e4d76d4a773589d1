"""How a network is asked about states: standardised, and in chunks of a fixed size."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from nppac.references.checks import checked_states

_CHUNK = 1024
_SMALL_CHUNK = 16
_CONSTANT = 1e-6
"""An entry that varies by less than this part of its size varies by float32 rounding only."""


class Standardiser(NamedTuple):
    """x = (s - centre) / spread, from the demonstrations."""

    centre: np.ndarray
    spread: np.ndarray

    def __call__(self, obs: np.ndarray) -> np.ndarray:
        """Standardised float32 states (n, o), or an error that says what is wrong with them."""
        obs = checked_states(obs, len(self.centre), "The network")
        return ((obs - self.centre) / self.spread).astype(np.float32)


def standardiser(obs: np.ndarray) -> Standardiser:
    """Mean and standard deviation of each entry; one that is constant counts in its own unit.

    In float64, because sums of many equal numbers in float32 would make a constant look varied.
    """
    spread = obs.std(0, dtype=np.float64)
    varies = spread > _CONSTANT * np.abs(obs).max(0)
    return Standardiser(obs.mean(0, dtype=np.float64), np.where(varies, spread, 1.0))


def in_chunks(function: Callable[[Any], tuple[Any, ...]], x: np.ndarray) -> tuple[np.ndarray, ...]:
    """The outputs of a compiled function, asked about few states at a time.

    Chunks are padded to one of two sizes, so that it is never compiled for every new number of
    states.
    """
    size = _SMALL_CHUNK if len(x) <= _SMALL_CHUNK else _CHUNK
    starts = range(0, max(len(x), 1), size)
    parts = [_padded(function, x[i : i + size], size) for i in starts]
    return tuple(np.concatenate(outputs) for outputs in zip(*parts, strict=True))


def _padded(
    function: Callable[[Any], tuple[Any, ...]], x: np.ndarray, size: int
) -> tuple[np.ndarray, ...]:
    padded = np.zeros((size, x.shape[1]), np.float32)
    padded[: len(x)] = x
    return tuple(np.asarray(output)[: len(x)] for output in function(padded))
