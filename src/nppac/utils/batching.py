"""Calls compiled functions with any number of rows, without compiling them for each number."""

from collections.abc import Callable

import numpy as np
from jaxtyping import Array, Float

_CHUNK = 1024
_SMALL_CHUNK = 16

Compiled = Callable[[Float[np.ndarray, "n o"]], tuple[Array | np.ndarray, ...]]
"""A function from rows to one or more arrays with as many rows."""


def map_in_chunks(function: Compiled, x: Float[np.ndarray, "n o"]) -> tuple[np.ndarray, ...]:
    """The outputs of a compiled function, asked about few rows at a time.

    Chunks are padded to one of two sizes, so that it is never compiled for every new number of
    rows.
    """
    size = _SMALL_CHUNK if len(x) <= _SMALL_CHUNK else _CHUNK
    starts = range(0, max(len(x), 1), size)
    parts = [_ask_padded(function, x[i : i + size], size) for i in starts]
    return tuple(np.concatenate(outputs) for outputs in zip(*parts, strict=True))


def _ask_padded(
    function: Compiled, x: Float[np.ndarray, "n o"], size: int
) -> tuple[np.ndarray, ...]:
    padded = np.zeros((size, x.shape[1]), np.float32)
    padded[: len(x)] = x
    return tuple(np.asarray(output)[: len(x)] for output in function(padded))
