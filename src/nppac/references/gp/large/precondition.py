"""An approximate inverse of K + τI that is cheap for a hundred thousand points.

Some points are landmarks. What they do not explain of the rest is taken to be correlated within
blocks of near points only: M = UUᵀ + D with UUᵀ = κ(x, l) κ(l, l)⁻¹ κ(l, x) and D the blocks of
K + τI - UUᵀ. That is a covariance, hence positive definite, and the Woodbury identity inverts it
by block factors and one small factor. Conjugate gradients make the answer exact.
"""

import numpy as np
from jaxtyping import Float, Int
from scipy.linalg import cho_factor, cho_solve, cholesky, solve_triangular

from nppac.references.gp.kernels import KernelName, cross
from nppac.utils.errors import UserError
from nppac.utils.memory import machine_memory

BLOCK = 1000
"""Points of a block."""
MEMORY = min(6 * 2**30, machine_memory() // 2)
"""Bytes that landmarks and factors may take together."""
_LANDMARKS = (500, 4000)
"""Fewest and most landmarks: more save iterations, and cost their square."""
_JITTER = 1e-8
"""Added to the landmarks' unit variances, so that repeated ones can be factorised."""


class Landmarks:
    """What the landmarks explain of all points: U (N, m) and the blocks of K - UUᵀ."""

    def __init__(self, kernel: KernelName, x: Float[np.ndarray, "n o"], count: int):
        """Points x in lengthscales, in `near_order`; landmarks lie at equal intervals of it."""
        self.kernel: KernelName = kernel
        self.x = x
        chosen = x[np.unique(np.linspace(0, len(x) - 1, count, dtype=int))]
        root = cholesky(_gram(kernel, chosen) + _JITTER * np.eye(len(chosen)), lower=True)
        self.blocks = [slice(i, i + BLOCK) for i in range(0, len(x), BLOCK)]
        self.u = np.empty((len(x), len(chosen)))
        for block in self.blocks:
            k = cross(kernel, chosen, x[block])
            self.u[block] = solve_triangular(root, k, lower=True, overwrite_b=True).T

    def unexplained(self, block: slice) -> Float[np.ndarray, "block block"]:
        """K - UUᵀ within a block."""
        return _gram(self.kernel, self.x[block]) - self.u[block] @ self.u[block].T


class Preconditioner:
    """M⁻¹ for one τ: D⁻¹ - D⁻¹U (I + UᵀD⁻¹U)⁻¹ UᵀD⁻¹."""

    def __init__(self, landmarks: Landmarks, shift: float):
        self._landmarks, self._factors = landmarks, []
        u = landmarks.u
        inner = np.eye(u.shape[1])
        for block in landmarks.blocks:
            d = landmarks.unexplained(block)
            d[np.diag_indices(len(d))] += shift + _JITTER
            try:
                factor = cholesky(d, lower=True, overwrite_a=True, check_finite=False)
            except np.linalg.LinAlgError as error:
                raise UserError(
                    "The kernel matrix is not positive definite. Drop repeated or extreme "
                    "observations, or use a rougher kernel such as matern12."
                ) from error
            half = solve_triangular(factor, u[block], lower=True, check_finite=False)
            inner += half.T @ half
            self._factors.append(factor)
        self._inner = cho_factor(inner, lower=True, overwrite_a=True, check_finite=False)

    def __call__(self, residual: Float[np.ndarray, "n d"]) -> Float[np.ndarray, "n d"]:
        """M⁻¹ times every column."""
        u = self._landmarks.u
        local = self._local(residual)
        return local - self._local(u @ cho_solve(self._inner, u.T @ local, check_finite=False))

    def _local(self, vectors: Float[np.ndarray, "n d"]) -> Float[np.ndarray, "n d"]:
        out = np.empty_like(vectors)
        for block, factor in zip(self._landmarks.blocks, self._factors, strict=True):
            out[block] = cho_solve((factor, True), vectors[block], check_finite=False)
        return out


def landmark_count(points: int, preconditioners: int) -> int:
    """As many as `MEMORY` has room for beside the factors of all blocks; 0 if that is too few."""
    room = MEMORY // (8 * points) - preconditioners * min(BLOCK, points)
    fewest, most = _LANDMARKS
    return min(room, most, points) if room >= min(fewest, points) else 0


def near_order(x: Float[np.ndarray, "n o"], size: int = BLOCK) -> Int[np.ndarray, " n"]:
    """An order of the rows of x in which each block of `size` holds rows that are near.

    Rows are halved again and again, each time across the direction in which they spread most.
    """
    order = np.arange(len(x))
    _halve(x, order, size)
    return order


def _halve(x: Float[np.ndarray, "n o"], order: Int[np.ndarray, " some"], size: int) -> None:
    blocks = -(-len(order) // size)
    if blocks <= 1:
        return
    rows = x[order] - x[order].mean(0)
    _, directions = np.linalg.eigh(rows.T @ rows)
    middle = blocks // 2 * size
    order[:] = order[np.argpartition(rows @ directions[:, -1], middle)]
    _halve(x, order[:middle], size)
    _halve(x, order[middle:], size)


def _gram(kernel: KernelName, x: Float[np.ndarray, "n o"]) -> Float[np.ndarray, "n n"]:
    matrix = cross(kernel, x, x)
    np.fill_diagonal(matrix, 1.0)
    return matrix
