"""Predictive variance from the nearest points only: cost m² per query instead of N².

Conditioning on fewer points can never give less variance, so this errs on the safe side.
"""

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from nppac.references.kernels import gram

_CHUNK = 256
_SMALL_CHUNK = 16
_TOLERANCE = 1e-6
"""Most that a variance may be too large by, as a part of itself."""
_TINY = 1e-150
"""Keeps quotients of what has converged to zero defined, and its square representable."""


class NeighbourVariance:
    """Conditions each query on its m most correlated points, afresh."""

    def __init__(self, kernel: str, x: np.ndarray, lam: np.ndarray, neighbours: int):
        self._kernel = kernel
        self._x = x
        self._lam = lam
        self._m = min(neighbours, len(x))

    def __call__(self, k: np.ndarray) -> np.ndarray:
        """Variance (n, P), at least 1, at states with kernel rows k (n, N)."""
        size = _SMALL_CHUNK if len(k) <= _SMALL_CHUNK else _CHUNK
        parts = [self._chunk(k[i : i + size], size) for i in range(0, len(k), size)]
        return np.concatenate(parts) if parts else np.empty((0, len(self._lam)))

    def _chunk(self, k: np.ndarray, size: int) -> np.ndarray:
        # Padded to one of two sizes, so that nothing is compiled twice; padding is not computed.
        padded = np.zeros((size, k.shape[1]), np.float32)
        padded[: len(k)] = k
        nearest = np.asarray(jax.lax.top_k(padded, self._m)[1])
        rows = np.zeros((size, self._m))
        rows[: len(k)] = np.take_along_axis(k, nearest[: len(k)], axis=1)
        with jax.enable_x64(True):
            reduction = _reductions(rows, nearest, self._x, self._lam, len(k), kernel=self._kernel)
        return np.maximum(1.0 + self._lam - np.asarray(reduction)[: len(k)], 1.0)


@partial(jax.jit, static_argnames="kernel")
def _reductions(k: Any, nearest: Any, x: Any, lam: Any, count: Any, *, kernel: str) -> Any:
    """Λ² kᵀ(ΛK + I)⁻¹k of the first `count` queries, each with its own neighbours.

    One query after the other: its m x m matrix then never leaves the processor's cache.
    """

    def one(i, out):
        return out.at[i].set(_reduction(gram(kernel, x[nearest[i]], jnp), k[i], lam))

    return jax.lax.fori_loop(0, count, one, jnp.zeros((len(k), len(lam))))


def _reduction(gram: Any, k: Any, lam: Any) -> Any:
    """Λ² kᵀ(ΛK + I)⁻¹k for every Λ from one Lanczos recursion on K that starts at k.

    Lanczos gives a tridiagonal T (diagonal a, beside it b), the same for every Λ, with
    kᵀ(ΛK + I)⁻¹k = |k|² [(ΛT + I)⁻¹]₁₁. Its pivots δ_j = Λa_j + 1 - Λ²b²_{j-1}/δ_{j-1} turn that
    into Σ_j |k|² c_j²/δ_j with c_j = -Λ b_{j-1} c_{j-1}/δ_{j-1}. Every term is positive, so to
    stop early can only leave the variance too large; and by no more than the Gauss-Radau term at
    ΛK + I's least possible eigenvalue 1, whose pivot is 1 + Λb_j²/e_j - Λ²b_j²/δ_j with e the
    pivots of T. Stop when that is `_TOLERANCE` of the variance.
    """
    norm2 = k @ k
    start = k / jnp.sqrt(jnp.maximum(norm2, _TINY))
    ones = jnp.ones_like(lam)

    def unfinished(carry):
        step, *_, remainder, total = carry
        return (step < 2 * len(k)) & jnp.any(remainder > _TOLERANCE * (1.0 + lam - total))

    def advance(carry):
        step, previous, current, b, e, delta, c2, _, total = carry
        product = gram @ current - b * previous
        a = product @ current
        product = product - a * current
        delta = lam * a + 1.0 - (lam * b) ** 2 / delta
        e = jnp.maximum(a - b * b / e, _TINY)
        total = total + lam**2 * c2 / delta
        b = jnp.sqrt(product @ product)
        c2 = c2 * (lam * b / delta) ** 2
        remainder = lam**2 * c2 / (1.0 + lam * b * b / e - (lam * b) ** 2 / delta)
        following = product / jnp.maximum(b, _TINY)
        return step + 1, current, following, b, e, delta, c2, remainder, total

    zero, one = jnp.zeros(()), jnp.ones(())
    first = (0, 0.0 * k, start, zero, one, ones, norm2 * ones, jnp.inf * ones, 0.0 * lam)
    return jax.lax.while_loop(unfinished, advance, first)[-1]
