"""The posterior mean, and the nearest points, at many states: κ(s, S̄) W without holding κ(s, S̄).

All of it is float64: weights are large and cancel, and float32 kernels would leave errors of a
thousandth of the action. Shapes are fixed, so that nothing is compiled twice for a reference.
"""

from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Float32, Int

from nppac.references.gp.kernels import KernelName, kernel_function
from nppac.utils.parallel import map_chunks

_ROWS = (1, 16, 64)
"""States that one compiled call takes; fewer are padded."""
_COLUMNS = 4096
"""Points that are worked on at once: with 64 states 2 MB, which stay in cache."""
_BINS = 2048
"""Point j falls into bin j modulo this, so that neighbours in time do not share one."""
_FAR = 1e150
"""Squared distance to padding: its kernel is zero, and it is nobody's nearest."""


class Tiles(NamedTuple):
    """Points S̄ in tiles of one shape, such that a product with them gives squared distances."""

    right: Float[Array, "*tiles o_plus_2 columns"]
    weights: Float[Array, "*tiles columns d"]


class TiledMean:
    """κ(s, S̄) W for points x = S̄ in lengthscales and weights W."""

    def __init__(
        self, kernel: KernelName, x: Float[np.ndarray, "n o"], weights: Float[np.ndarray, "n d"]
    ):
        self._kernel: KernelName = kernel
        self._n, self._d = weights.shape
        right, padded = _tiled(x, weights)
        with jax.enable_x64(True):
            self._tiles = Tiles(jnp.asarray(right), jnp.asarray(padded))

    def mean(self, states: Float[np.ndarray, "q o"]) -> Float[np.ndarray, "q d"]:
        """κ(s, S̄) W at states in lengthscales."""
        out = np.empty((len(states), self._d))

        def fill(chunk: slice, rows: int) -> None:
            left = _left(states[chunk], rows)
            with jax.enable_x64(True):
                mean = _means(left, self._tiles, kernel=self._kernel)
            out[chunk] = np.asarray(mean)[: chunk.stop - chunk.start]

        map_chunks(len(states), _ROWS, fill)
        return out

    def mean_and_nearest(
        self, states: Float[np.ndarray, "q o"], m: int
    ) -> tuple[Float[np.ndarray, "q d"], Int[np.ndarray, "q m"]]:
        """κ(s, S̄) W, and the indices of the m nearest points, nearest first."""
        out = np.empty((len(states), self._d))
        nearest = np.empty((len(states), m), np.int64)

        def fill(chunk: slice, rows: int) -> None:
            count = chunk.stop - chunk.start
            left = _left(states[chunk], rows)
            with jax.enable_x64(True):
                mean, least, r2 = _means_and_distances(left, self._tiles, kernel=self._kernel)
            out[chunk] = np.asarray(mean)[:count]
            nearest[chunk] = _smallest(
                np.asarray(r2)[:, :count], np.asarray(least)[:count], m, self._n
            )

        map_chunks(len(states), _ROWS, fill)
        return out, nearest


def _tiled(
    x: Float[np.ndarray, "n o"], weights: Float[np.ndarray, "n d"]
) -> tuple[Float[np.ndarray, "tiles o_plus_2 columns"], Float[np.ndarray, "tiles columns d"]]:
    n = len(x)
    bins = min(_BINS, _round_up(n, 128))
    columns = min(_COLUMNS, _round_up(n, bins))
    tiles = -(-n // columns)
    right = np.zeros((tiles * columns, x.shape[1] + 2))
    right[:n, :-2], right[:, -2], right[:n, -1] = x, 1.0, (x * x).sum(1)
    right[n:, -1] = _FAR
    padded = np.zeros((tiles * columns, weights.shape[1]))
    padded[:n] = weights
    return (
        np.ascontiguousarray(right.reshape(tiles, columns, -1).transpose(0, 2, 1)),
        padded.reshape(tiles, columns, -1),
    )


def _round_up(n: int, multiple: int) -> int:
    return -(-n // multiple) * multiple


def _left(x: Float[np.ndarray, "q o"], rows: int) -> Float[np.ndarray, "rows o_plus_2"]:
    """The factor whose product with `Tiles.right` is squared distances."""
    left = np.zeros((rows, x.shape[1] + 2))
    left[: len(x), :-2], left[: len(x), -2], left[:, -1] = -2.0 * x, (x * x).sum(1), 1.0
    return left


def _tile_mean(
    left: Float[Array, "rows o_plus_2"], tile: Tiles, kernel: KernelName
) -> tuple[Float[Array, "rows d"], Float[Array, "rows columns"]]:
    r2 = jnp.maximum(left @ tile.right, 0.0)
    return kernel_function(kernel)(r2, jnp) @ tile.weights, r2


@partial(jax.jit, static_argnames="kernel")
def _means(
    left: Float[Array, "rows o_plus_2"], tiles: Tiles, *, kernel: KernelName
) -> Float[Array, "rows d"]:
    def step(total: Float[Array, "rows d"], tile: Tiles) -> tuple[Float[Array, "rows d"], None]:
        return total + _tile_mean(left, tile, kernel)[0], None

    return jax.lax.scan(step, _zeros(left, tiles), tiles)[0]


@partial(jax.jit, static_argnames="kernel")
def _means_and_distances(
    left: Float[Array, "rows o_plus_2"], tiles: Tiles, *, kernel: KernelName
) -> tuple[
    Float[Array, "rows d"], Float32[Array, "rows bins"], Float32[Array, "tiles rows columns"]
]:
    """Means, the least squared distance in each bin, and all squared distances by tiles."""
    bins = min(_BINS, tiles.right.shape[-1])

    def step(
        carry: tuple[Float[Array, "rows d"], Float32[Array, "rows bins"]], tile: Tiles
    ) -> tuple[
        tuple[Float[Array, "rows d"], Float32[Array, "rows bins"]], Float32[Array, "rows columns"]
    ]:
        total, least = carry
        mean, r2 = _tile_mean(left, tile, kernel)
        r2 = r2.astype(jnp.float32)
        least = jnp.minimum(least, r2.reshape(len(left), -1, bins).min(1))
        return (total + mean, least), r2

    first = jnp.full((len(left), bins), jnp.inf, jnp.float32)
    (total, least), r2 = jax.lax.scan(step, (_zeros(left, tiles), first), tiles)
    return total, least, r2


def _zeros(left: Float[Array, "rows o_plus_2"], tiles: Tiles) -> Float[Array, "rows d"]:
    return jnp.zeros((len(left), tiles.weights.shape[-1]))


def _smallest(
    r2: Float32[np.ndarray, "tiles rows columns"],
    least: Float32[np.ndarray, "rows bins"],
    m: int,
    n: int,
) -> Int[np.ndarray, "rows m"]:
    """Indices of the m least of the first n entries of every row, least first.

    The m-th least of the bins' minima is no less than the m-th least entry, and few entries lie
    between the two: that leaves little to sort.
    """
    _, rows, columns = r2.shape
    if m > least.shape[1]:
        least = r2.transpose(1, 0, 2).reshape(rows, -1)
    limit = np.partition(least, m - 1, axis=1)[:, m - 1, None]
    # Flat indices are several times as fast to find as rows and columns.
    found = [np.flatnonzero(tile <= limit) for tile in r2]
    row = np.concatenate([flat // columns for flat in found])
    column = np.concatenate([flat % columns + t * columns for t, flat in enumerate(found)])
    row, column = row[column < n], column[column < n]
    # Bits of floats that are not negative are ordered as they are: one integer sorts by row and r2.
    bits = r2[column // columns, row, column % columns].view(np.int32)
    order = np.argsort(row << 32 | bits)
    starts = np.searchsorted(row[order], np.arange(rows))
    return column[order][starts[:, None] + np.arange(m)]
