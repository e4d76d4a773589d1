"""The maximum mean discrepancy between two sets of actions at each state."""

from typing import Literal

import jax.numpy as jnp
from jaxtyping import Float

from nppac.types import ActionSamples, AnyArray, Values

MMDKernel = Literal["laplacian", "gaussian"]
MMD_EPSILON = 1e-6


def mmd(
    x: ActionSamples,
    y: Float[AnyArray, "other batch d"],
    kernel: MMDKernel,
    width: float,
    squashed: bool = False,
) -> Values:
    """MMD = √(k̄xx + k̄yy - 2 k̄xy + 1e-6), k = exp(-‖·‖₁ / 2σ) or exp(-‖·‖² / 2σ).

    With `squashed` it is that of tanh x and tanh y.
    The means are of k - 1, which gives the same sum without cancellation where k is near 1.
    """

    def mean_kernel(x: AnyArray, y: AnyArray) -> Values:
        apart = jnp.abs(x[:, None] - y[None])
        distance = jnp.sum(apart if kernel == "laplacian" else apart**2, axis=-1)
        return jnp.mean(jnp.expm1(-distance / (2.0 * width)), axis=(0, 1))

    if squashed:
        x, y = jnp.tanh(x), jnp.tanh(y)
    squared = mean_kernel(x, x) + mean_kernel(y, y) - 2.0 * mean_kernel(x, y)
    return jnp.sqrt(squared + MMD_EPSILON)
