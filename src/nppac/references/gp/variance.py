"""Predictive variance of a GP with covariance Λ_j κ + I, for many Λ_j at once.

Every output j of the whitened and rotated model is a single GP, so at a state with kernel row
k = κ(s, S̄) its predictive variance, noise included, is

    1 + Λ_j - Λ_j² kᵀ (Λ_j K + I)⁻¹ k.

`ExactVariance` conditions on all N points, at N² per query. `NeighbourVariance` conditions on m
points nearby, at m². Fewer points can never give less variance, so that errs on the safe side.
"""

from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import scipy.linalg
from jaxtyping import Array, Bool, Float, Int

from nppac.references.gp.kernels import KernelName, check_memory, cross, gram, kernel_function
from nppac.utils.errors import UserError
from nppac.utils.parallel import map_chunks
from nppac.utils.threads import single_blas_thread

_NEGLIGIBLE = 1e-5
"""Directions whose signal is this far below the noise are dropped; that only adds variance."""
_ENTRIES = 2**22
"""Kernel values held at once: 32 MB."""
_ROWS = (1, 16, 128)
"""States that one compiled call takes; fewer are padded."""
_TOLERANCE = 1e-6
"""Most that a variance may be too large by, as a part of itself."""
_TINY = 1e-150
"""Keeps quotients of what has converged to zero defined, and its square representable."""


class ExactVariance:
    """Conditions on all N points through one eigendecomposition K = V diag(S) Vᵀ.

    kᵀ (ΛK + I)⁻¹ k = Σ_n (kᵀV)_n² / (ΛS_n + 1).
    """

    def __init__(
        self,
        eigenvalues: Float[np.ndarray, " n"],
        eigenvectors: Float[np.ndarray, "n n"],
        lam: Float[np.ndarray, " d"],
    ):
        keep = eigenvalues * lam.max() > _NEGLIGIBLE
        self._vectors = eigenvectors if keep.all() else eigenvectors[:, keep]
        self._shrinkage = lam**2 / (eigenvalues[keep, None] * lam + 1.0)
        self._prior = 1.0 + lam

    def at(
        self,
        kernel: KernelName,
        states: Float[np.ndarray, "q o"],
        x: Float[np.ndarray, "n o"],
    ) -> Float[np.ndarray, "q d"]:
        """Variance at states, for points x; both in lengthscales."""
        rows = max(1, _ENTRIES // len(x))
        parts = (states[i : i + rows] for i in range(0, len(states), rows))
        blocks = [self(cross(kernel, part, x)) for part in parts]
        return np.concatenate(blocks) if blocks else np.empty((0, len(self._prior)))

    def __call__(self, k: Float[np.ndarray, "q n"]) -> Float[np.ndarray, "q d"]:
        """Variance, at least 1, at states with kernel rows k."""
        projected = k @ self._vectors
        projected *= projected
        return np.maximum(self._prior - projected @ self._shrinkage, 1.0)


def eigendecomposition(
    kernel: KernelName, x: Float[np.ndarray, "n o"]
) -> tuple[Float[np.ndarray, " n"], Float[np.ndarray, "n n"]]:
    """Eigenvalues, none negative, and eigenvectors of κ(x, x)."""
    check_memory(len(x), matrices=4)
    matrix = cross(kernel, x, x)
    np.fill_diagonal(matrix, 1.0)
    try:
        with single_blas_thread():
            s, v = scipy.linalg.eigh(matrix, driver="evd", overwrite_a=True, check_finite=False)
    except np.linalg.LinAlgError as error:
        raise UserError(
            f"The {len(x)} x {len(x)} kernel matrix cannot be decomposed: {error}. Drop repeated "
            "or extreme observations, or use variance='neighbours'."
        ) from error
    return np.maximum(s, 0.0), v


class NeighbourVariance:
    """Conditions each query on m points around it, afresh."""

    def __init__(
        self,
        kernel: KernelName,
        x: Float[np.ndarray, "n o"],
        lam: Float[np.ndarray, " d"],
        neighbours: int,
    ):
        self._ranks = spread_ranks(min(neighbours, len(x)), len(x))
        self.reach = int(self._ranks[-1]) + 1
        """How many of the nearest points a query needs to know."""
        self._kernel: KernelName = kernel
        self._lam = lam
        with jax.enable_x64(True):
            self._points = jnp.asarray(x)

    def __call__(
        self, states: Float[np.ndarray, "q o"], nearest: Int[np.ndarray, "q reach"]
    ) -> Float[np.ndarray, "q d"]:
        """Variance, at least 1, at states whose `reach` nearest points are given by index."""
        nearest = nearest[:, self._ranks]
        out = np.empty((len(states), len(self._lam)))

        def fill(chunk: slice, size: int) -> None:
            # Padded to few sizes, so that nothing is compiled twice; padding is not computed.
            count = chunk.stop - chunk.start
            padded = np.zeros((size, states.shape[1]))
            chosen = np.zeros((size, nearest.shape[1]), np.int64)
            padded[:count], chosen[:count] = states[chunk], nearest[chunk]
            with jax.enable_x64(True):
                reduction = _reductions(
                    padded, chosen, self._points, self._lam, count, kernel=self._kernel
                )
            out[chunk] = np.asarray(reduction)[:count]

        map_chunks(len(states), _ROWS, fill)
        return np.maximum(1.0 + self._lam - out, 1.0)


def spread_ranks(m: int, n: int) -> Int[np.ndarray, " m"]:
    """Which of n points, ordered by distance, to condition on: the nearest, and some further out.

    The nearest points of demonstrations lie close together on one trajectory and say much the
    same. A third of the m points, spread evenly over ranks up to 4 m, says more.
    """
    near = m - m // 3
    further = np.linspace(near, min(4 * m, n) - 1, m // 3)
    return np.concatenate([np.arange(near), np.round(further).astype(np.int64)])


@partial(jax.jit, static_argnames="kernel")
def _reductions(
    states: Float[Array, "rows o"],
    nearest: Int[Array, "rows m"],
    x: Float[Array, "n o"],
    lam: Float[Array, " d"],
    count: Int[Array, ""],
    *,
    kernel: KernelName,
) -> Float[Array, "rows d"]:
    """Λ² kᵀ(ΛK + I)⁻¹k of the first `count` queries, each with its own neighbours.

    One query after the other: its m x m matrix then never leaves the processor's cache.
    """

    def one(i: Int[Array, ""], out: Float[Array, "rows d"]) -> Float[Array, "rows d"]:
        # Relative to the state itself, so that short distances lose no digits.
        near = x[nearest[i]] - states[i]
        k = kernel_function(kernel)((near * near).sum(1), jnp)
        return out.at[i].set(_reduction(gram(kernel, near, jnp), k, lam))

    return jax.lax.fori_loop(0, count, one, jnp.zeros((len(states), len(lam))))


class Lanczos(NamedTuple):
    """Where the recursion of `_reduction` stands, in its notation."""

    step: int | Int[Array, ""]
    previous: Float[Array, " m"]
    current: Float[Array, " m"]
    b: Float[Array, ""]
    e: Float[Array, ""]
    delta: Float[Array, " d"]
    c2: Float[Array, " d"]
    """|k|² c²."""
    remainder: Float[Array, " d"]
    """Most that `total` still lacks."""
    total: Float[Array, " d"]


def _reduction(
    gram: Float[Array, "m m"], k: Float[Array, " m"], lam: Float[Array, " d"]
) -> Float[Array, " d"]:
    """Λ² kᵀ(ΛK + I)⁻¹k for every Λ from one Lanczos recursion on K that starts at k.

    Lanczos gives a tridiagonal T (diagonal a, beside it b), the same for every Λ, with
    kᵀ(ΛK + I)⁻¹k = |k|² [(ΛT + I)⁻¹]₁₁. Its pivots δ_i = Λa_i + 1 - Λ²b²_{i-1}/δ_{i-1} turn that
    into Σ_i |k|² c_i²/δ_i with c_i = -Λ b_{i-1} c_{i-1}/δ_{i-1}. Every term is positive, so to
    stop early can only leave the variance too large; and by no more than the Gauss-Radau term at
    ΛK + I's least possible eigenvalue 1, whose pivot is 1 + Λb_i²/e_i - Λ²b_i²/δ_i with e the
    pivots of T. Stop when that is `_TOLERANCE` of the variance.
    """
    norm2 = k @ k
    zero, one, ones = jnp.zeros(()), jnp.ones(()), jnp.ones_like(lam)

    def unfinished(at: Lanczos) -> Bool[Array, ""]:
        allowed = _TOLERANCE * (1.0 + lam - at.total)
        return (at.step < 2 * len(k)) & jnp.any(at.remainder > allowed)

    first = Lanczos(
        step=0,
        previous=0.0 * k,
        current=k / jnp.sqrt(jnp.maximum(norm2, _TINY)),
        b=zero,
        e=one,
        delta=ones,
        c2=norm2 * ones,
        remainder=jnp.inf * ones,
        total=0.0 * lam,
    )
    return jax.lax.while_loop(unfinished, partial(_lanczos_step, gram, lam), first).total


def _lanczos_step(gram: Float[Array, "m m"], lam: Float[Array, " d"], at: Lanczos) -> Lanczos:
    product = gram @ at.current - at.b * at.previous
    a = product @ at.current
    product = product - a * at.current
    delta = lam * a + 1.0 - (lam * at.b) ** 2 / at.delta
    e = jnp.maximum(a - at.b * at.b / at.e, _TINY)
    b = jnp.sqrt(product @ product)
    c2 = at.c2 * (lam * b / delta) ** 2
    return Lanczos(
        step=at.step + 1,
        previous=at.current,
        current=product / jnp.maximum(b, _TINY),
        b=b,
        e=e,
        delta=delta,
        c2=c2,
        remainder=lam**2 * c2 / (1.0 + lam * b * b / e - (lam * b) ** 2 / delta),
        total=at.total + lam**2 * at.c2 / delta,
    )
