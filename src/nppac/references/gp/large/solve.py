"""Weights of the posterior mean for more points than an N x N matrix can be held for.

All outputs solve (Λ_j K + I) g_j = z_j at once by preconditioned conjugate gradients, so that a
tile of the kernel, computed on the fly, serves every output. Tiles are float32 first. What that
and the recursion lose shows in a residual in float64, which is solved for in a further round. Where
actions have next to no noise, Λ is so large that float32 no longer helps: then tiles are float64.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from nppac.references.gp.kernels import KernelName
from nppac.references.gp.large.precondition import (
    MEMORY,
    Landmarks,
    Preconditioner,
    landmark_count,
    near_order,
)
from nppac.references.gp.large.tiles import KernelOperator
from nppac.references.gp.solve import TINY, Operator, conjugate_gradients, group_by_ratio
from nppac.utils.errors import UserError
from nppac.utils.progress import Advance, silent

TOLERANCE = 3e-4
"""Residual to stop at, as a part of z: bounds the mean's error as a part of the action's scale.

The error itself is about a third of it; the action's own noise is seldom below a hundredth."""
_GAIN = 1e-4
"""A round in float32 reduces the residual to this at most: beyond, only rounding would change."""
_MAX_ITERATIONS = 300
"""In all rounds together."""
_PATIENCE = 30
"""Iterations in float32 in which a residual must have halved. In float64 it may plateau: it falls
the faster afterwards."""
_GROUP_RATIO = 5.0


class System(NamedTuple):
    """G -> ΛKG + G with tiles of either precision, and an approximate inverse of it."""

    rough: Operator
    exact: Operator
    precondition: Operator


class Iterate(NamedTuple):
    """A solution so far: its residual in float64, and the norms of that."""

    g: Float[np.ndarray, "n d"]
    residual: Float[np.ndarray, "n d"]
    norms: Float[np.ndarray, " d"]


def solve_iteratively(
    kernel: KernelName,
    x: Float[np.ndarray, "n o"],
    lam: Float[np.ndarray, " d"],
    z: Float[np.ndarray, "n d"],
    advance: Advance = silent,
    tolerance: float = TOLERANCE,
) -> Float[np.ndarray, "n d"]:
    """Columns g_j of (Λ_j K + I) g_j = z_j, to `tolerance`, without an N x N matrix.

    `advance` counts iterations and says what residual is left.
    """
    order = near_order(x)
    x, z = x[order], z[order]
    rough, exact = (_system(KernelOperator(kernel, x, t), lam) for t in (np.float32, np.float64))
    system = System(rough, exact, _preconditioner(kernel, x, lam))
    g = np.empty_like(z)
    g[order] = _refine(system, z, tolerance, advance)
    return g


def _refine(
    system: System, z: Float[np.ndarray, "n d"], tolerance: float, advance: Advance
) -> Float[np.ndarray, "n d"]:
    """Rounds of conjugate gradients, each on the residual that the last one left."""
    size = np.maximum(np.linalg.norm(z, axis=0), TINY)
    best = Iterate(np.zeros_like(z), z, np.linalg.norm(z, axis=0))
    apply, done = system.rough, 0

    def show(norms: Float[np.ndarray, " d"]) -> None:
        nonlocal done
        done += 1
        advance(done, f"residual {(norms / size).max():.0e}, down to {tolerance:.0e}")

    while (best.norms > tolerance * size).any():
        correction = conjugate_gradients(
            apply,
            system.precondition,
            best.residual,
            goal=np.maximum(_GAIN * best.norms, 0.5 * tolerance * size),
            max_iterations=_MAX_ITERATIONS - done,
            flexible=True,
            patience=_MAX_ITERATIONS if apply is system.exact else _PATIENCE,
            observe=show,
        )
        new = _iterate(system, z, best.g + correction.g)
        gain = (best.norms / size).max() / max((new.norms / size).max(), TINY)  # NaN is no gain
        best = new if gain > 1 else best
        failed = done >= _MAX_ITERATIONS or (apply is system.exact and not gain > 1)
        if failed and (best.norms > tolerance * size).any():
            raise _not_converged(done, (best.norms / size).max(), tolerance)
        apply = apply if gain > 2 else system.exact
    return best.g


def _iterate(system: System, z: Float[np.ndarray, "n d"], g: Float[np.ndarray, "n d"]) -> Iterate:
    residual = z - system.exact(g)
    return Iterate(g, residual, np.linalg.norm(residual, axis=0))


def _not_converged(iterations: int, residual: float, tolerance: float) -> UserError:
    return UserError(
        f"The posterior mean did not converge: after {iterations} iterations the residual is "
        f"{residual:.0e} of the actions, not {tolerance:.0e}. Use fewer demonstrations, or a "
        "rougher kernel such as matern12."
    )


def _system(product: Operator, lam: Float[np.ndarray, " d"]) -> Operator:
    return lambda vectors: lam * product(vectors) + vectors


def _preconditioner(
    kernel: KernelName, x: Float[np.ndarray, "n o"], lam: Float[np.ndarray, " d"]
) -> Operator:
    """Every column by the approximate inverse of an output with a similar Λ."""
    # K has no eigenvalue above N: with Λ below 1/N the system is near I, whatever Λ.
    bounded = np.maximum(lam, 1.0 / len(x))
    outputs = _groups(bounded, len(x))
    landmarks = Landmarks(kernel, x, landmark_count(len(x), len(outputs)))
    shifts = [float(bounded[group].min() * bounded[group].max()) ** -0.5 for group in outputs]
    inverses = [Preconditioner(landmarks, shift) for shift in shifts]

    def apply(residual: Float[np.ndarray, "n d"]) -> Float[np.ndarray, "n d"]:
        out = np.empty_like(residual)
        for group, inverse in zip(outputs, inverses, strict=True):
            out[:, group] = inverse(residual[:, group])
        return out

    return apply


def _groups(lam: Float[np.ndarray, " d"], points: int) -> list[Int[np.ndarray, " group"]]:
    """Outputs that share an approximate inverse: as few together as memory allows."""
    ratio = _GROUP_RATIO
    while not landmark_count(points, len(groups := group_by_ratio(lam, ratio))):
        if len(groups) == 1:
            raise UserError(
                f"{points} points are too many to condition a GP on within "
                f"{MEMORY / 2**30:.0f} GiB. Use fewer demonstrations."
            )
        ratio *= 4.0
    return groups
