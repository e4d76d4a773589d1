"""Products with the kernel matrix, which is never held: its tiles are made and used one by one.

A tile above the diagonal serves the one below it too, so that each kernel value is computed once.
"""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Shaped

from nppac.references.gp.kernels import KernelName, kernel_function
from nppac.utils.parallel import map_threads

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

    def __init__(
        self,
        kernel: KernelName,
        x: Float[np.ndarray, "n o"],
        dtype: type[np.floating] = np.float64,
    ):
        self._kernel: KernelName = kernel
        self._dtype, self._n = dtype, len(x)
        self._side = min(TILE, -(-len(x) // _STRIP) * _STRIP)
        with jax.enable_x64(True):
            self._tiles = [jnp.asarray(tile) for tile in _tiled(x, self._side, _FAR)]

    def __call__(self, vectors: Float[np.ndarray, "n d"]) -> Float[np.ndarray, "n d"]:
        """κ(x, x) times vectors, summed over tiles in float64."""
        parts = _tiled(vectors, self._side, 0.0).astype(self._dtype)
        totals = np.zeros(parts.shape)
        pairs = [(i, j) for i in range(len(parts)) for j in range(i, len(parts))]
        # Tiles on several threads, but summed in one order: the same bits for any number of them.
        products = map_threads(lambda pair: self._pair(*pair, parts), pairs)
        for (i, j), (upper, lower) in zip(pairs, products, strict=True):
            totals[i] += upper
            totals[j] += lower
        return totals.reshape(-1, vectors.shape[1])[: self._n]

    def _pair(
        self, i: int, j: int, parts: Float[np.ndarray, "tiles side d"]
    ) -> tuple[Float[np.ndarray, "side d"], Float[np.ndarray, "side d"] | float]:
        """What tile (i, j) adds to rows i, and to rows j; nothing to the latter if i = j."""
        x, y = self._tiles[i], self._tiles[j]
        with jax.enable_x64(True):
            if i == j:
                return np.asarray(_diagonal_product(x, parts[i], kernel=self._kernel)), 0.0
            upper, lower = _products(x, y, parts[i], parts[j], kernel=self._kernel)
            return np.asarray(upper), np.asarray(lower)


def _tiled(
    rows: Float[np.ndarray, "n columns"], side: int, padding: float
) -> Float[np.ndarray, "tiles side columns"]:
    out = np.full((-(-len(rows) // side) * side, rows.shape[1]), padding)
    out[: len(rows)] = rows
    return out.reshape(-1, side, rows.shape[1])


def _distance_factors(
    x: Float[Array, "n o"], y: Float[Array, "m o"]
) -> tuple[Float[Array, "n o_plus_2"], Float[Array, "o_plus_2 m"]]:
    """Matrices whose product is the squared distances.

    One product is cheaper than a product and two sums over all its entries.
    """
    x2, y2 = (jnp.einsum("ij,ij->i", a, a)[:, None] for a in (x, y))
    left = jnp.concatenate([-2.0 * x, x2, jnp.ones_like(x2)], axis=1)
    return left, jnp.concatenate([y, jnp.ones_like(y2), y2], axis=1).T


@partial(jax.jit, static_argnames="kernel")
def _products(
    x: Float[Array, "side o"],
    y: Float[Array, "side o"],
    vx: Float[Array, "side d"],
    vy: Float[Array, "side d"],
    *,
    kernel: KernelName,
) -> tuple[Float[Array, "side d"], Float[Array, "side d"]]:
    """κ(x, y) vy and κ(y, x) vx."""
    left, right = _distance_factors(x, y)

    def strip(
        total: Float[Array, "d side"],
        rows: tuple[Float[Array, "strip o_plus_2"], Float[Array, "strip d"]],
    ) -> tuple[Float[Array, "d side"], Float[Array, "strip d"]]:
        left, v = rows
        k = kernel_function(kernel)(jnp.maximum(left @ right, 0.0).astype(v.dtype), jnp)
        return total + v.T @ k, k @ vy

    lower, upper = jax.lax.scan(strip, jnp.zeros_like(vy).T, (_strips(left), _strips(vx)))
    return upper.reshape(vx.shape), lower.T


@partial(jax.jit, static_argnames="kernel")
def _diagonal_product(
    x: Float[Array, "side o"], v: Float[Array, "side d"], *, kernel: KernelName
) -> Float[Array, "side d"]:
    left, right = _distance_factors(x, x)

    def strip(
        rows: tuple[Float[Array, "strip o_plus_2"], Int[Array, " strip"]],
    ) -> Float[Array, "strip d"]:
        left, index = rows
        off_diagonal = index[:, None] != jnp.arange(len(x))
        r2 = (jnp.maximum(left @ right, 0.0) * off_diagonal).astype(v.dtype)
        return kernel_function(kernel)(r2, jnp) @ v

    return jax.lax.map(strip, (_strips(left), _strips(jnp.arange(len(x))))).reshape(v.shape)


def _strips(rows: Shaped[Array, "side ..."]) -> Shaped[Array, "strips strip ..."]:
    return rows.reshape(-1, _STRIP, *rows.shape[1:])
