"""Weights of the posterior mean for more points than an N x N matrix can be held for.

All outputs solve (Λ_p K + I) g_p = z_p at once by preconditioned conjugate gradients, so that a
tile of the kernel, computed on the fly, serves every output. Their tiles are float32; what that
and the recursion lose shows in a residual in float64, which is then solved for in its turn. Where
actions have next to no noise, Λ is so large that float32 no longer helps: then tiles are float64.
"""

from collections.abc import Callable

import numpy as np

from nppac.references.gp.large.precondition import (
    MEMORY,
    Landmarks,
    Preconditioner,
    landmark_count,
    near_order,
)
from nppac.references.gp.large.tiles import KernelOperator
from nppac.references.gp.weights import alike
from nppac.utils.errors import UserError
from nppac.utils.progress import Advance, silent

TOLERANCE = 3e-4
"""Residual to stop at, as a part of z: bounds the mean's error as a part of the action's scale.

The error itself is about a third of it; the action's own noise is seldom below a hundredth."""
_GAIN = 1e-4
"""What a round in float32 may reduce the residual to: beyond it, only its rounding would change."""
_MAX_ITERATIONS = 300
"""In all rounds together."""
_PATIENCE = 30
"""Iterations in float32 in which a residual must have halved: it plateaus in float64 too, but then
only to fall the faster."""
_GROUP_RATIO = 5.0
_TINY = 1e-300

Operator = Callable[[np.ndarray], np.ndarray]


def solve_iteratively(
    kernel: str,
    x: np.ndarray,
    lam: np.ndarray,
    z: np.ndarray,
    advance: Advance = silent,
    tolerance: float = TOLERANCE,
) -> np.ndarray:
    """Columns g_p (N, P) of (Λ_p K + I) g_p = z_p, to `tolerance`, without an N x N matrix.

    `advance` counts iterations and says what residual is left.
    """
    order = near_order(x)
    x, z = x[order], z[order]
    rough, exact = (_system(KernelOperator(kernel, x, t), lam) for t in (np.float32, np.float64))
    precondition = _preconditioner(kernel, x, lam)
    size = np.maximum(np.linalg.norm(z, axis=0), _TINY)
    g, residual, left, done = np.zeros_like(z), z, np.linalg.norm(z, axis=0), 0
    apply = rough

    def show(sizes: np.ndarray) -> None:
        nonlocal done
        done += 1
        advance(done, f"residual {(sizes / size).max():.0e}, down to {tolerance:.0e}")

    while (left > tolerance * size).any():
        goal = np.maximum(_GAIN * left, 0.5 * tolerance * size)
        most = _MAX_ITERATIONS - done
        patience = _MAX_ITERATIONS if apply is exact else _PATIENCE
        better = g + _conjugate_gradients(apply, precondition, residual, goal, most, patience, show)
        remaining = z - exact(better)
        sizes = np.linalg.norm(remaining, axis=0)
        gain = (left / size).max() / max((sizes / size).max(), _TINY)  # NaN is no gain
        if gain > 1:
            g, residual, left = better, remaining, sizes
        if (left <= tolerance * size).all():
            break
        if done >= _MAX_ITERATIONS or (apply is exact and not gain > 1):
            raise UserError(
                f"The posterior mean did not converge: after {done} iterations the residual is "
                f"{(left / size).max():.0e} of the actions, not {tolerance:.0e}. Use fewer "
                "demonstrations, or a rougher kernel such as matern12."
            )
        apply = apply if gain > 2 else exact
    result = np.empty_like(g)
    result[order] = g
    return result


def _system(product: Operator, lam: np.ndarray) -> Operator:
    return lambda vectors: lam * product(vectors) + vectors


def _preconditioner(kernel: str, x: np.ndarray, lam: np.ndarray) -> Operator:
    """Every column by the approximate inverse of an output that is like it."""
    # K has no eigenvalue above N: with Λ below 1/N the system is near I, whatever Λ.
    bounded = np.maximum(lam, 1.0 / len(x))
    outputs = _groups(bounded, len(x))
    landmarks = Landmarks(kernel, x, landmark_count(len(x), len(outputs)))
    shifts = [float(bounded[group].min() * bounded[group].max()) ** -0.5 for group in outputs]
    inverses = [Preconditioner(landmarks, shift) for shift in shifts]

    def apply(residual: np.ndarray) -> np.ndarray:
        out = np.empty_like(residual)
        for group, inverse in zip(outputs, inverses, strict=True):
            out[:, group] = inverse(residual[:, group])
        return out

    return apply


def _groups(lam: np.ndarray, points: int) -> list[np.ndarray]:
    """Outputs that share an approximate inverse: as few together as memory allows."""
    ratio = _GROUP_RATIO
    while not landmark_count(points, len(groups := alike(lam, ratio))):
        if len(groups) == 1:
            raise UserError(
                f"{points} points are too many to condition a GP on within "
                f"{MEMORY / 2**30:.0f} GiB. Use fewer demonstrations."
            )
        ratio *= 4.0
    return groups


def _conjugate_gradients(
    apply: Operator,
    precondition: Operator,
    z: np.ndarray,
    goal: np.ndarray,
    most: int,
    patience: int,
    show: Callable[[np.ndarray], None],
) -> np.ndarray:
    """Solve apply(g) = z for every column of z, down to residuals `goal`, in `most` iterations.

    The flexible recursion: it forgives an operator that rounds, if only so much that it stays
    positive and residuals halve within `patience`; otherwise it ends early.
    """
    g, residual, history = np.zeros_like(z), z, [np.inf]
    direction = preconditioned = precondition(residual)
    rho = (residual * preconditioned).sum(0)
    for _ in range(most):
        image = apply(direction)
        curvature = (direction * image).sum(0)
        if (curvature < 0).any():
            break
        # A column that is solved, or was zero, divides nothing by nothing: let it rest.
        step = rho / np.maximum(curvature, _TINY)
        g = g + step * direction
        change = step * image
        residual = residual - change
        sizes = np.linalg.norm(residual, axis=0)
        show(sizes)
        history.append((sizes / goal).max())
        if (sizes <= goal).all() or history[-1] > 0.5 * min(history[:-patience], default=np.inf):
            break
        preconditioned = precondition(residual)
        turned = -(change * preconditioned).sum(0)
        rho, previous = (residual * preconditioned).sum(0), rho
        direction = preconditioned + turned / np.maximum(previous, _TINY) * direction
    return g
