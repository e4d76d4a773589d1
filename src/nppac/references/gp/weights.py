"""Weights of the posterior mean, exact for any number of points that fits in memory once.

In the whitened, rotated space output p solves (Λ_p K + I) g_p = z_p. Small problems share one
eigendecomposition. Large ones share a Cholesky factor of (Λ K + I) among outputs whose Λ_p are
near Λ, as the preconditioner of conjugate gradients: the ratio of the two spectra, hence the
number of iterations, is bounded by Λ_p/Λ.
"""

import os
from collections.abc import Callable

import numpy as np
from scipy.linalg import get_blas_funcs, get_lapack_funcs

from nppac.references.gp.kernels import cross
from nppac.utils.errors import UserError

_GROUP_RATIO = 100.0
_TOLERANCE = 1e-11
_MAX_ITERATIONS = 200
_TINY = 1e-300

(_symm,) = get_blas_funcs(("symm",), dtype=np.float64)
_potrf, _potrs = get_lapack_funcs(("potrf", "potrs"), dtype=np.float64)

Operator = Callable[[np.ndarray], np.ndarray]


def solve_shifted(kernel: str, x: np.ndarray, lam: np.ndarray, z: np.ndarray) -> np.ndarray:
    """Columns g_p (N, P) of (Λ_p K + I) g_p = z_p, with a single N x N matrix in memory."""
    check_memory(len(x))
    matrix = np.empty((len(x), len(x)), order="F")
    g = np.empty_like(z)
    # K has no eigenvalue above N: with Λ below 1/N the system is near I, whatever Λ.
    for group in alike(np.maximum(lam, 1.0 / len(x)), _GROUP_RATIO):
        g[:, group] = _solve_group(kernel, x, lam[group], z[:, group], matrix)
    return g


def alike(lam: np.ndarray, ratio: float) -> list[np.ndarray]:
    """Indices of outputs, together where the largest Λ is at most `ratio` times the least."""
    order = np.argsort(lam)
    groups, start = [], 0
    for i in range(1, len(order) + 1):
        if i == len(order) or lam[order[i]] > ratio * lam[order[start]]:
            groups.append(order[start:i])
            start = i
    return groups


def _solve_group(
    kernel: str, x: np.ndarray, lam: np.ndarray, z: np.ndarray, matrix: np.ndarray
) -> np.ndarray:
    """Conjugate gradients on all columns at once, preconditioned by (K + I/Λ)⁻¹."""
    bounded = np.maximum(lam, 1.0 / len(x))
    _factorise(kernel, x, float(bounded.min() * bounded.max()) ** -0.5, matrix)
    excess = np.diagonal(matrix)[:, None] - 1.0

    def apply(vectors):
        product = _symm(1.0, matrix, vectors, lower=0) - excess * vectors
        return lam * product + vectors

    def precondition(residual):
        return _potrs(matrix, residual, lower=1)[0]

    return _conjugate_gradients(apply, precondition, np.asfortranarray(z))


def _factorise(kernel: str, x: np.ndarray, jitter: float, matrix: np.ndarray) -> None:
    """Fill `matrix` with K above the diagonal and, on and below it, the factor of K + jitter·I."""
    cross(kernel, x, x, out=matrix.T)
    np.fill_diagonal(matrix, 1.0 + jitter)
    _, info = _potrf(matrix, lower=1, clean=0, overwrite_a=1)
    if info != 0:
        raise UserError(
            f"The {len(x)} x {len(x)} kernel matrix is not positive definite. Drop repeated or "
            "extreme observations, or use a rougher kernel such as matern12."
        )


def _conjugate_gradients(apply: Operator, precondition: Operator, z: np.ndarray) -> np.ndarray:
    """Solve apply(g) = z for every column of z."""
    g, residual = np.zeros_like(z), z
    direction = preconditioned = precondition(residual)
    rho = (residual * preconditioned).sum(0)
    goal = _TOLERANCE * np.linalg.norm(z, axis=0)
    for _ in range(_MAX_ITERATIONS):
        image = apply(direction)
        # A column that is solved, or was zero, divides nothing by nothing: let it rest.
        step = rho / np.maximum((direction * image).sum(0), _TINY)
        g = g + step * direction
        residual = residual - step * image
        if (np.linalg.norm(residual, axis=0) <= goal).all():
            return g
        preconditioned = precondition(residual)
        rho, previous = (residual * preconditioned).sum(0), rho
        direction = preconditioned + rho / np.maximum(previous, _TINY) * direction
    raise UserError(
        "The posterior mean did not converge: the demonstrations are too ill-conditioned. Use "
        "fewer of them, or a rougher kernel such as matern12."
    )


def machine_memory() -> int:
    """Bytes of memory that this machine has."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def check_memory(n: int, matrices: int = 1) -> None:
    """Refuse N x N matrices that this machine cannot hold, before it stops responding."""
    needed = 8 * matrices * n * n
    usable = 0.7 * machine_memory()
    if needed > usable:
        most = int((usable / (8 * matrices)) ** 0.5)
        raise UserError(
            f"To condition a GP on {n} points takes {needed / 1e9:.1f} GB of memory, and this "
            f"machine can spare {usable / 1e9:.1f} GB. Use at most {most} of them"
            + (", or variance='neighbours'." if matrices > 1 else ".")
        )
