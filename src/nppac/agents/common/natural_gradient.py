"""Natural gradients of a Gaussian policy, without ever building its Fisher matrix."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import optax
from jax.scipy.sparse.linalg import cg
from jaxtyping import Array, Float

from nppac.agents.common.actor_critic import Scalar
from nppac.agents.common.returns import Rows
from nppac.nn.distributions import normal_kl
from nppac.nn.policies import LinearPolicy

TINY = 1e-20

Tree = Any
Product = Callable[[Tree], Tree]


def fisher_product(
    policy: LinearPolicy, obs: Float[Array, "rows o"], weights: Rows, damping: float
) -> Product:
    """V ↦ (F + c I) v, where F = ∇² E_s[KL(π_new(·|s) ‖ π(·|s))] at π_new = π."""
    old = policy.loc_scale(obs)

    def kl(new: LinearPolicy) -> Scalar:
        return jnp.average(normal_kl(*new.loc_scale(obs), *old), weights=weights)

    def product(v: Tree) -> Tree:
        curved = jax.jvp(jax.grad(kl), (policy,), (v,))[1]
        return jax.tree.map(lambda c, x: c + damping * x, curved, v)

    return product


def natural_step(
    product: Product, gradient: Tree, step_size: float, iterations: int
) -> tuple[Scalar, Tree]:
    """The length √(2δ / gᵀx) and the direction x ≈ F⁻¹ g, by conjugate gradients."""
    direction, _ = cg(product, gradient, maxiter=iterations)
    gain = optax.tree.vdot(gradient, direction)
    return jnp.sqrt(step_size / (jnp.abs(gain) + TINY)), direction
