"""Cholesky factor, solutions and products of one large symmetric matrix, on several threads.

The matrix is worked on in tiles, each by one thread and a BLAS that uses no further ones. Threads
sleep while they wait for each other, where those of BLAS would spin: on a busy machine that took
several times as long. Tiles depend on the size of the matrix only, and sums are taken in one
order: the results have the same bits for any number of threads.

The matrix is in Fortran's order. Its upper triangle holds a kernel matrix K with a unit diagonal.
Its lower triangle with the diagonal holds the factor L of K + jitter·I.
"""

from collections.abc import Callable
from itertools import combinations_with_replacement

import numpy as np
from jaxtyping import Float
from scipy.linalg import get_blas_funcs, get_lapack_funcs

from nppac.references.gp.kernels import KernelName, cross
from nppac.utils.parallel import map_all

SIDE = 1024
"""Points along each side of a tile: 8 MB."""

(_trsm,) = get_blas_funcs(("trsm",), dtype=np.float64)
(_potrf,) = get_lapack_funcs(("potrf",), dtype=np.float64)

Matrix = Float[np.ndarray, "n n"]
Columns = Float[np.ndarray, "n d"]


def factorise(
    kernel: KernelName,
    x: Float[np.ndarray, "n o"],
    jitter: float,
    matrix: Matrix,
    observe: Callable[[float], None] = lambda share: None,
) -> bool:
    """Fill `matrix` with K and L; False if K + jitter·I is not positive definite.

    `observe` is told what share of the work is done.
    """

    def fill(rows: slice) -> None:
        cross(kernel, x[rows], x, out=matrix.T[rows])

    map_all(fill, _tiles(len(x)))
    np.fill_diagonal(matrix, 1.0 + jitter)
    for tile in _tiles(len(x)):
        if not _eliminate(matrix, tile):
            return False
        observe(1.0 - (1.0 - tile.stop / len(x)) ** 3)
    return True


def _eliminate(matrix: Matrix, tile: slice) -> bool:
    """One block of columns of L, and what it takes from the columns after it."""
    # The upper triangle is handed through as it is.
    factor, info = _potrf(matrix[tile, tile], lower=1, clean=0)
    if info != 0:
        return False
    matrix[tile, tile] = factor
    below = _tiles(len(matrix), tile.stop)

    def divide(rows: slice) -> None:
        matrix[rows, tile] = _trsm(1.0, factor, matrix[rows, tile], side=1, lower=1, trans_a=1)

    def subtract(pair: tuple[slice, slice]) -> None:
        columns, rows = pair
        # In this order the product lies in memory as the tile does.
        product = (matrix[columns, tile] @ matrix[rows, tile].T).T
        matrix[rows, columns] -= np.tril(product) if rows == columns else product

    map_all(divide, below)
    map_all(subtract, list(combinations_with_replacement(below, 2)))
    return True


def solve(matrix: Matrix, z: Columns) -> Columns:
    """Columns g of L Lᵀ g = z."""
    g, tiles = z.copy(), _tiles(len(z))
    for i, tile in enumerate(tiles):
        g[tile] = _trsm(1.0, matrix[tile, tile], g[tile], lower=1)

        def forward(rows: slice, tile: slice = tile) -> None:
            g[rows] -= matrix[rows, tile] @ g[tile]

        map_all(forward, tiles[i + 1 :])
    for i, tile in reversed(list(enumerate(tiles))):

        def backward(rows: slice, tile: slice = tile) -> Float[np.ndarray, "tile d"]:
            return matrix[rows, tile].T @ g[rows]

        for part in map_all(backward, tiles[i + 1 :]):
            g[tile] -= part
        g[tile] = _trsm(1.0, matrix[tile, tile], g[tile], lower=1, trans_a=1)
    return g


def product(matrix: Matrix, vectors: Columns) -> Columns:
    """K times vectors."""
    tiles = _tiles(len(vectors))

    def columns(tile: slice) -> tuple[Float[np.ndarray, "own d"], Float[np.ndarray, "above d"]]:
        """What a block of columns, down to the diagonal, adds to its own rows and those above."""
        above, within = matrix[: tile.start, tile], np.triu(matrix[tile, tile], 1)
        own = within @ vectors[tile] + within.T @ vectors[tile] + vectors[tile]
        return own + above.T @ vectors[: tile.start], above @ vectors[tile]

    total = np.zeros_like(vectors)
    for tile, (own, above) in zip(tiles, map_all(columns, tiles), strict=True):
        total[tile] += own
        total[: tile.start] += above
    return total


def _tiles(n: int, start: int = 0) -> list[slice]:
    return [slice(i, min(i + SIDE, n)) for i in range(start, n, SIDE)]
