"""Policy gradients and natural gradients of a Gaussian policy."""

from collections.abc import Callable

import jax
import jax.numpy as jnp
import optax
from jax.scipy.sparse.linalg import cg
from jaxtyping import Array, Float, PRNGKeyArray

from nppac.agents.base import Info
from nppac.agents.common.returns import RowValues
from nppac.agents.replay import Replay, sample_rows
from nppac.nn.distributions import normal_kl
from nppac.nn.policies import LinearPolicy
from nppac.types import AnyArray, Scalar

TINY = 1e-20
LARGEST_LOG_RATIO = 10.0

MatrixProduct = Callable[[LinearPolicy], LinearPolicy]
"""Product of a matrix with a vector; vectors have the structure of the policy's parameters."""


def log_likelihood(
    policy: LinearPolicy,
    obs: Float[AnyArray, "rows o"],
    action: Float[AnyArray, "rows d"],
    weights: RowValues,
) -> Scalar:
    """Σ_i w_i log π(a_i|s_i)."""
    return jnp.sum(weights * policy.log_prob(obs, action))


def fisher_product(
    policy: LinearPolicy,
    obs: Float[AnyArray, "rows o"],
    weights: RowValues,
    damping: float | Scalar,
) -> MatrixProduct:
    """v ↦ (F + c I) v, where F = ∇² E_s[KL(π_new(·|s) ‖ π(·|s))] at π_new = π."""
    old = policy.loc_scale(obs)

    def kl(new: LinearPolicy) -> Scalar:
        return jnp.average(normal_kl(*new.loc_scale(obs), *old), weights=weights)

    def product(v: LinearPolicy) -> LinearPolicy:
        curved = jax.jvp(jax.grad(kl), (policy,), (v,))[1]
        return jax.tree.map(lambda c, x: c + damping * x, curved, v)

    return product


def fisher_sample(
    obs: Float[AnyArray, "rows o"],
    weights: RowValues,
    replay: Replay,
    key: PRNGKeyArray,
    count: int | None,
) -> tuple[Float[AnyArray, "few o"], Float[AnyArray, " few"]]:
    """States at which the Fisher matrix is estimated, and their weights: all, or `count` rows."""
    if count is None:
        return obs, weights
    rows = sample_rows(replay, key, 1, count)[0]
    return obs[rows], jnp.ones(count)


def natural_step(
    product: MatrixProduct, gradient: LinearPolicy, step_size: float | Scalar, iterations: int
) -> tuple[Scalar, LinearPolicy]:
    """The length √(2δ / gᵀx) and the direction x ≈ F⁻¹ g, by conjugate gradients."""
    direction, _ = cg(product, gradient, maxiter=iterations)
    gain = optax.tree.vdot(gradient, direction)
    return jnp.sqrt(step_size / (jnp.abs(gain) + TINY)), direction


def step_report(
    new: LinearPolicy,
    old: LinearPolicy,
    obs: Float[AnyArray, "rows o"],
    action: Float[AnyArray, "rows d"],
    advantage: RowValues,
    weights: RowValues,
) -> Info:
    """The surrogate loss -E[π_new(a|s) / π_old(a|s) A(s, a)] and E[KL(π_new ‖ π_old)] of a step."""
    log_ratio = new.log_prob(obs, action) - old.log_prob(obs, action)
    ratio = jnp.exp(jnp.minimum(log_ratio, LARGEST_LOG_RATIO))
    kl = normal_kl(*new.loc_scale(obs), *old.loc_scale(obs))
    return {
        "policy_loss": -jnp.average(ratio * advantage, weights=weights),
        "step_kl": jnp.average(kl, weights=weights),
    }


def with_scale_floor(policy: LinearPolicy, log_floor: Float[Array, " d"]) -> LinearPolicy:
    """The policy with log σ at its floor wherever a step went below."""
    return LinearPolicy(policy.trunk, jnp.maximum(policy.log_scale, log_floor))
