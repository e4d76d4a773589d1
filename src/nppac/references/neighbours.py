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
_TOLERANCE = 1e-5
"""Stop when another Lanczos step would lower no variance by more than this part of itself."""


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

    Lanczos gives a tridiagonal T with kᵀ(ΛK + I)⁻¹k = |k|² [(ΛT + I)⁻¹]₁₁, the same T for every
    Λ. Its LDLᵀ pivots δ_j = Λa_j + 1 - Λ²b²_{j-1}/δ_{j-1} turn that into Σ_j |k|² c_j²/δ_j with
    c_j = -Λ b_{j-1} c_{j-1}/δ_{j-1}: every term is positive, so to stop early (at `_TOLERANCE`)
    can only leave the variance too large.
    """
    norm2 = k @ k
    start = k / jnp.sqrt(jnp.maximum(norm2, 1e-300))
    ones = jnp.ones_like(lam)

    def unfinished(carry):
        step, *_, term, total = carry
        return (step < 2 * len(k)) & jnp.any(term > _TOLERANCE * (1.0 + lam - total))

    def advance(carry):
        step, previous, current, beta, delta, c2, _, total = carry
        product = gram @ current - beta * previous
        alpha = product @ current
        product = product - alpha * current
        new_delta = lam * alpha + 1.0 - (lam * beta) ** 2 / delta
        new_c2 = jnp.where(step == 0, norm2, c2 * (lam * beta / delta) ** 2)
        term = lam**2 * new_c2 / new_delta
        new_beta = jnp.sqrt(product @ product)
        following = product / jnp.maximum(new_beta, 1e-300)
        return step + 1, current, following, new_beta, new_delta, new_c2, term, total + term

    first = (0, jnp.zeros_like(k), start, jnp.zeros(()), ones, ones, jnp.inf * ones, 0.0 * lam)
    return jax.lax.while_loop(unfinished, advance, first)[-1]
