"""Products with the kernel matrix that never hold it: tiles are made, used and forgotten.

A tile above the diagonal serves the one below it too, so that each kernel value is computed once.
"""

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from nppac.references.gp.kernels import profile
from nppac.references.gp.parallel import on_all_cores

TILE = 2048
"""Points along each side of a tile, if there are so many."""
_STRIP = 256
"""Rows of a tile that are worked on at once: 4 MB in float64, so that they stay in cache."""
_FAR = 1e15
"""Where padding lies, in lengthscales: its kernel with anything else is zero."""


class KernelOperator:
    """v -> κ(x, x) v for points x (N, o) in lengthscales, with an exact unit diagonal.

    Distances are float64, because a difference of squares loses digits; `dtype` is that of the
    kernel's values.
    """

    def __init__(self, kernel: str, x: np.ndarray, dtype: Any = np.float64):
        self._kernel, self._dtype, self._n = kernel, dtype, len(x)
        self._side = min(TILE, -(-len(x) // _STRIP) * _STRIP)
        with jax.enable_x64(True):
            self._tiles = [jnp.asarray(tile) for tile in _tiled(x, self._side, _FAR)]

    def __call__(self, vectors: np.ndarray) -> np.ndarray:
        """κ(x, x) times vectors (N, P), summed over tiles in float64."""
        parts = _tiled(vectors, self._side, 0.0).astype(self._dtype)
        totals = np.zeros(parts.shape)
        pairs = [(i, j) for i in range(len(parts)) for j in range(i, len(parts))]
        # Tiles on all cores, but summed in one order, so that the answer has always the same bits.
        products = on_all_cores(lambda pair: self._pair(*pair, parts), pairs)
        for (i, j), (upper, lower) in zip(pairs, products, strict=True):
            totals[i] += upper
            totals[j] += lower
        return totals.reshape(-1, vectors.shape[1])[: self._n]

    def _pair(self, i: int, j: int, parts: np.ndarray) -> tuple[np.ndarray, np.ndarray | float]:
        """What tile (i, j) adds to rows i, and to rows j; nothing to the latter if they are i."""
        x, y = self._tiles[i], self._tiles[j]
        with jax.enable_x64(True):
            if i == j:
                return np.asarray(_diagonal_product(x, parts[i], kernel=self._kernel)), 0.0
            upper, lower = _products(x, y, parts[i], parts[j], kernel=self._kernel)
            return np.asarray(upper), np.asarray(lower)


def _tiled(rows: np.ndarray, side: int, padding: float) -> np.ndarray:
    out = np.full((-(-len(rows) // side) * side, rows.shape[1]), padding)
    out[: len(rows)] = rows
    return out.reshape(-1, side, rows.shape[1])


def distance_factors(x: Any, y: Any, xp: Any) -> tuple[Any, Any]:
    """Matrices (n, o + 2) and (o + 2, m) whose product is the squared distances.

    One product is cheaper than a product and two sums over all its entries.
    """
    x2, y2 = (xp.einsum("ij,ij->i", a, a)[:, None] for a in (x, y))
    left = xp.concatenate([-2.0 * x, x2, xp.ones_like(x2)], axis=1)
    return left, xp.concatenate([y, xp.ones_like(y2), y2], axis=1).T


@partial(jax.jit, static_argnames="kernel")
def _products(x: Any, y: Any, vx: Any, vy: Any, *, kernel: str) -> tuple[Any, Any]:
    """κ(x, y) vy and κ(y, x) vx."""
    left, right = distance_factors(x, y, jnp)

    def strip(total, rows):
        left, v = rows
        k = profile(kernel)(jnp.maximum(left @ right, 0.0).astype(v.dtype), jnp)
        return total + v.T @ k, k @ vy

    lower, upper = jax.lax.scan(strip, jnp.zeros_like(vy).T, (_strips(left), _strips(vx)))
    return upper.reshape(vx.shape), lower.T


@partial(jax.jit, static_argnames="kernel")
def _diagonal_product(x: Any, v: Any, *, kernel: str) -> Any:
    left, right = distance_factors(x, x, jnp)

    def strip(rows):
        left, index = rows
        off_diagonal = index[:, None] != jnp.arange(len(x))
        r2 = (jnp.maximum(left @ right, 0.0) * off_diagonal).astype(v.dtype)
        return profile(kernel)(r2, jnp) @ v

    return jax.lax.map(strip, (_strips(left), _strips(jnp.arange(len(x))))).reshape(v.shape)


def _strips(rows: Any) -> Any:
    return rows.reshape(-1, _STRIP, *rows.shape[1:])
