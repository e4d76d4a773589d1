"""Predictive variance from points nearby only: cost m² per query instead of N².

Conditioning on fewer points can never give less variance, so this errs on the safe side.
"""

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from nppac.references.gp.kernels import gram, profile
from nppac.references.gp.parallel import in_parts

_ROWS = (1, 16, 128)
"""States that one compiled call takes; fewer are padded."""
_TOLERANCE = 1e-6
"""Most that a variance may be too large by, as a part of itself."""
_TINY = 1e-150
"""Keeps quotients of what has converged to zero defined, and its square representable."""


class NeighbourVariance:
    """Conditions each query on m points around it, afresh."""

    def __init__(self, kernel: str, x: np.ndarray, lam: np.ndarray, neighbours: int):
        self._ranks = spread_ranks(min(neighbours, len(x)), len(x))
        self.reach = int(self._ranks[-1]) + 1
        self._kernel, self._lam = kernel, lam
        with jax.enable_x64(True):
            self._points = jnp.asarray(x)

    def __call__(self, query: np.ndarray, nearest: np.ndarray) -> np.ndarray:
        """Variance (n, P), at least 1, at states (n, o) whose nearest points are (n, reach)."""
        nearest = nearest[:, self._ranks]
        out = np.empty((len(query), len(self._lam)))

        def answer(part: slice, size: int) -> None:
            # Padded to few sizes, so that nothing is compiled twice; padding is not computed.
            count = part.stop - part.start
            states = np.zeros((size, query.shape[1]))
            chosen = np.zeros((size, nearest.shape[1]), np.int64)
            states[:count], chosen[:count] = query[part], nearest[part]
            with jax.enable_x64(True):
                reduction = _reductions(
                    states, chosen, self._points, self._lam, count, kernel=self._kernel
                )
            out[part] = np.asarray(reduction)[:count]

        in_parts(len(query), _ROWS, answer)
        return np.maximum(1.0 + self._lam - out, 1.0)


def spread_ranks(m: int, n: int) -> np.ndarray:
    """Which of n points, ordered by distance, to condition on: the nearest, and some further out.

    Of demonstrations the nearest points lie in one stretch of one trajectory and say much the
    same. A third of the m points, spread evenly over ranks up to 4 m, says more.
    """
    near = m - m // 3
    further = np.linspace(near, min(4 * m, n) - 1, m // 3)
    return np.concatenate([np.arange(near), np.round(further).astype(np.int64)])


@partial(jax.jit, static_argnames="kernel")
def _reductions(states: Any, nearest: Any, x: Any, lam: Any, count: Any, *, kernel: str) -> Any:
    """Λ² kᵀ(ΛK + I)⁻¹k of the first `count` queries, each with its own neighbours.

    One query after the other: its m x m matrix then never leaves the processor's cache.
    """

    def one(i, out):
        # From the state itself, so that short distances lose no digits.
        near = x[nearest[i]] - states[i]
        k = profile(kernel)((near * near).sum(1), jnp)
        return out.at[i].set(_reduction(gram(kernel, near, jnp), k, lam))

    return jax.lax.fori_loop(0, count, one, jnp.zeros((len(states), len(lam))))


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
