"""The posterior mean, and the nearest points, at many states: κ(s, S̄) W without holding κ(s, S̄).

All of it is float64: weights are large and cancel, and float32 kernels would leave errors of a
thousandth of the action. Shapes are fixed, so that nothing is compiled twice for a reference.
"""

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from nppac.references.gp.kernels import profile
from nppac.references.gp.parallel import in_parts

_ROWS = (1, 16, 64)
"""States that one compiled call takes; fewer are padded."""
_COLUMNS = 4096
"""Points that are worked on at once: with 64 states 2 MB, which stay in cache."""
_BINS = 2048
"""Point j falls into bin j modulo this, so that neighbours in time do not share one."""
_FAR = 1e150
"""Squared distance to padding: its kernel is zero, and it is nobody's nearest."""


class Points(NamedTuple):
    """Points S̄ in tiles of one shape, such that a product with them gives squared distances."""

    right: Any
    """(tiles, o + 2, columns)."""
    weights: Any
    """(tiles, columns, P)."""


class Query:
    """Asks about states in lengthscales (n, o); x (N, o) are the points and W (N, P) weights."""

    def __init__(self, kernel: str, x: np.ndarray, weights: np.ndarray):
        self._kernel = kernel
        self._n, self._p = weights.shape
        with jax.enable_x64(True):
            self._points = Points(*(jnp.asarray(part) for part in _tiled(x, weights)))

    def mean(self, query: np.ndarray) -> np.ndarray:
        """κ(s, S̄) W, (n, P)."""
        out = np.empty((len(query), self._p))

        def answer(part: slice, rows: int) -> None:
            states = _left(query[part], rows)
            with jax.enable_x64(True):
                mean = _means(states, self._points, kernel=self._kernel)
            out[part] = np.asarray(mean)[: part.stop - part.start]

        in_parts(len(query), _ROWS, answer)
        return out

    def mean_and_nearest(self, query: np.ndarray, m: int) -> tuple[np.ndarray, np.ndarray]:
        """κ(s, S̄) W, (n, P), and the indices (n, m) of the m nearest points, nearest first."""
        out = np.empty((len(query), self._p))
        nearest = np.empty((len(query), m), np.int64)

        def answer(part: slice, rows: int) -> None:
            count = part.stop - part.start
            states = _left(query[part], rows)
            with jax.enable_x64(True):
                mean, least, r2 = _means_and_distances(states, self._points, kernel=self._kernel)
            out[part] = np.asarray(mean)[:count]
            nearest[part] = _smallest(
                np.asarray(r2)[:, :count], np.asarray(least)[:count], m, self._n
            )

        in_parts(len(query), _ROWS, answer)
        return out, nearest


def _tiled(x: np.ndarray, weights: np.ndarray) -> Points:
    n = len(x)
    bins = min(_BINS, _up(n, 128))
    columns = min(_COLUMNS, _up(n, bins))
    tiles = -(-n // columns)
    right = np.zeros((tiles * columns, x.shape[1] + 2))
    right[:n, :-2], right[:, -2], right[:n, -1] = x, 1.0, (x * x).sum(1)
    right[n:, -1] = _FAR
    padded = np.zeros((tiles * columns, weights.shape[1]))
    padded[:n] = weights
    return Points(
        np.ascontiguousarray(right.reshape(tiles, columns, -1).transpose(0, 2, 1)),
        padded.reshape(tiles, columns, -1),
    )


def _up(n: int, multiple: int) -> int:
    return -(-n // multiple) * multiple


def _left(x: np.ndarray, rows: int) -> np.ndarray:
    """The factor (rows, o + 2) whose product with `Points.right` is squared distances."""
    left = np.zeros((rows, x.shape[1] + 2))
    left[: len(x), :-2], left[: len(x), -2], left[:, -1] = -2.0 * x, (x * x).sum(1), 1.0
    return left


def _tile_mean(left: Any, points: Points, kernel: str) -> tuple[Any, Any]:
    r2 = jnp.maximum(left @ points.right, 0.0)
    return profile(kernel)(r2, jnp) @ points.weights, r2


@partial(jax.jit, static_argnames="kernel")
def _means(left: Any, points: Points, *, kernel: str) -> Any:
    def step(total, tile):
        return total + _tile_mean(left, tile, kernel)[0], None

    return jax.lax.scan(step, _nothing(left, points), points)[0]


@partial(jax.jit, static_argnames="kernel")
def _means_and_distances(left: Any, points: Points, *, kernel: str) -> tuple[Any, Any, Any]:
    """Means (n, P), the least squared distance in each bin, and all of them by tiles."""
    bins = min(_BINS, points.right.shape[-1])

    def step(carry, tile):
        total, least = carry
        mean, r2 = _tile_mean(left, tile, kernel)
        r2 = r2.astype(jnp.float32)
        least = jnp.minimum(least, r2.reshape(len(left), -1, bins).min(1))
        return (total + mean, least), r2

    first = jnp.full((len(left), bins), jnp.inf, jnp.float32)
    (total, least), r2 = jax.lax.scan(step, (_nothing(left, points), first), points)
    return total, least, r2


def _nothing(left: Any, points: Points) -> Any:
    return jnp.zeros((len(left), points.weights.shape[-1]))


def _smallest(r2: np.ndarray, least: np.ndarray, m: int, n: int) -> np.ndarray:
    """Indices (rows, m) of the m least of n entries; r2 is (tiles, rows, columns).

    The m-th least of the bins' minima is no less than the m-th least entry, and few entries lie
    between the two: that leaves little to sort.
    """
    _, rows, columns = r2.shape
    if m > least.shape[1]:
        least = r2.transpose(1, 0, 2).reshape(rows, -1)
    limit = np.partition(least, m - 1, axis=1)[:, m - 1, None]
    # Flat, because that is several times as fast as to ask for rows and columns.
    found = [np.flatnonzero(tile <= limit) for tile in r2]
    row = np.concatenate([flat // columns for flat in found])
    column = np.concatenate([flat % columns + t * columns for t, flat in enumerate(found)])
    row, column = row[column < n], column[column < n]
    # Bits of floats that are not negative are ordered as they are: one integer sorts by row and r2.
    bits = r2[column // columns, row, column % columns].view(np.int32)
    order = np.argsort(row << 32 | bits)
    starts = np.searchsorted(row[order], np.arange(rows))
    return column[order][starts[:, None] + np.arange(m)]
