"""Solves (Λ_j K + I) g_j = z_j for every whitened and rotated output j, up to 20,000 points.

Outputs whose Λ_j are near some Λ share a Cholesky factor of ΛK + I as the preconditioner of
conjugate gradients: the ratio of the two spectra, hence the number of iterations, is bounded by
Λ_j/Λ. The same conjugate gradients serve `large/`, with another preconditioner.
"""

import itertools
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from nppac.references.gp import tiled
from nppac.references.gp.config import DirectProgress
from nppac.references.gp.kernels import KernelName, check_memory
from nppac.utils.errors import UserError
from nppac.utils.progress import Advance, silent

TINY = 1e-300
"""Keeps quotients of what has converged to zero defined."""
_GROUP_RATIO = 100.0
_TOLERANCE = 1e-11
_MAX_ITERATIONS = 200

Operator = Callable[[Float[np.ndarray, "n d"]], Float[np.ndarray, "n d"]]
"""A linear map that is applied to every column, possibly another map for each."""
Observer = Callable[[Float[np.ndarray, " d"]], None]
"""Is told the residual's norm in every column."""


class Solution(NamedTuple):
    """Columns g, and whether all their residuals reached the goal."""

    g: Float[np.ndarray, "n d"]
    converged: bool


def conjugate_gradients(
    apply: Operator,
    precondition: Operator,
    z: Float[np.ndarray, "n d"],
    goal: Float[np.ndarray, " d"],
    max_iterations: int,
    *,
    flexible: bool = False,
    patience: int | None = None,
    observe: Observer = lambda norms: None,
) -> Solution:
    """Solve apply(g) = z for every column of z, down to residuals of norm `goal` > 0.

    It ends early where `apply` is not positive, and where residuals do not halve in `patience`
    iterations. `flexible` (Polak-Ribière, not Fletcher-Reeves) forgives an operator that rounds.
    """
    g, residual, history = np.zeros_like(z), z, [np.inf]
    direction = preconditioned = precondition(residual)
    rho = (residual * preconditioned).sum(0)
    for _ in range(max_iterations):
        image = apply(direction)
        curvature = (direction * image).sum(0)
        if (curvature < 0).any():
            break
        # A column that is solved, or was zero, divides zero by zero: TINY lets it rest.
        step = rho / np.maximum(curvature, TINY)
        g, change = g + step * direction, step * image
        residual = residual - change
        norms = np.linalg.norm(residual, axis=0)
        observe(norms)
        if (norms <= goal).all():
            return Solution(g, True)
        history.append((norms / goal).max())
        if history[-1] > 0.5 * min(history[: -(patience or max_iterations)], default=np.inf):
            break
        preconditioned = precondition(residual)
        rho, previous = (residual * preconditioned).sum(0), rho
        turned = -(change * preconditioned).sum(0) if flexible else rho
        direction = preconditioned + turned / np.maximum(previous, TINY) * direction
    return Solution(g, False)


def solve_with_cholesky(
    kernel: KernelName,
    x: Float[np.ndarray, "n o"],
    lam: Float[np.ndarray, " d"],
    z: Float[np.ndarray, "n d"],
    advance: Advance = silent,
) -> Float[np.ndarray, "n d"]:
    """Columns g_j of (Λ_j K + I) g_j = z_j, with a single N x N matrix in memory.

    `advance` counts to `WORK`.
    """
    check_memory(len(x))
    matrix = np.empty((len(x), len(x)), order="F")
    g = np.empty_like(z)
    # K has no eigenvalue above N: with Λ below 1/N the system is near I, whatever Λ.
    groups = group_by_ratio(np.maximum(lam, 1.0 / len(x)), _GROUP_RATIO)
    for i, group in enumerate(groups):
        progress = DirectProgress(len(groups), i, advance)
        g[:, group] = _solve_group(kernel, x, lam[group], z[:, group], matrix, progress)
    return g


def group_by_ratio(lam: Float[np.ndarray, " d"], ratio: float) -> list[Int[np.ndarray, " group"]]:
    """Indices in groups within which the largest Λ is at most `ratio` times the least."""
    order = np.argsort(lam)
    groups, start = [], 0
    for i in range(1, len(order) + 1):
        if i == len(order) or lam[order[i]] > ratio * lam[order[start]]:
            groups.append(order[start:i])
            start = i
    return groups


def _solve_group(
    kernel: KernelName,
    x: Float[np.ndarray, "n o"],
    lam: Float[np.ndarray, " d"],
    z: Float[np.ndarray, "n d"],
    matrix: Float[np.ndarray, "n n"],
    progress: DirectProgress,
) -> Float[np.ndarray, "n d"]:
    """All columns of a group at once, preconditioned by (K + I/Λ)⁻¹."""
    bounded = np.maximum(lam, 1.0 / len(x))
    jitter = float(bounded.min() * bounded.max()) ** -0.5
    if not tiled.factorise(kernel, x, jitter, matrix, progress.factorised):
        raise UserError(
            f"The {len(x)} x {len(x)} kernel matrix is not positive definite. Drop repeated or "
            "extreme observations, or use a rougher kernel such as matern12."
        )

    def apply(vectors: Float[np.ndarray, "n d"]) -> Float[np.ndarray, "n d"]:
        return lam * tiled.product(matrix, vectors) + vectors

    def precondition(residual: Float[np.ndarray, "n d"]) -> Float[np.ndarray, "n d"]:
        progress.iterated(next(iterations))
        return tiled.solve(matrix, residual)

    iterations = itertools.count()
    goal = np.maximum(_TOLERANCE * np.linalg.norm(z, axis=0), TINY)
    solution = conjugate_gradients(apply, precondition, z, goal, _MAX_ITERATIONS)
    if not solution.converged:
        raise UserError(
            "The posterior mean did not converge: the demonstrations are too ill-conditioned. Use "
            "fewer of them, or a rougher kernel such as matern12."
        )
    return solution.g
