"""Losses of actor-critic methods: pure functions of arrays, each with its equation.

`log_ratio` is log π(a|s) - log π0(a|s) at a sample a ~ π, or the KL divergence in closed form:
both estimate KL(π(·|s) ‖ π0(·|s)). Every argument per transition has shape (B,).
"""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from nppac.types import Scalar, Values


def soft_target(
    reward: Values,
    discount_mask: Values,
    next_q: Values,
    next_log_ratio: Values,
    temperature: Scalar | float,
    discount: float,
) -> Values:
    """y = r + γ m (min_i Q̄_i(s', a') - α [log π(a'|s') - log π0(a'|s')])."""
    return reward + discount * discount_mask * (next_q - temperature * next_log_ratio)


def critic_loss(q: Float[Array, "n batch"], target: Values) -> Scalar:
    """J_Q(θ) = Σ_i E[(Q_θi(s, a) - y)²], with y a constant."""
    return jnp.sum(jnp.mean((q - jax.lax.stop_gradient(target)) ** 2, axis=1))


def policy_loss(q: Values, log_ratio: Values, temperature: Scalar | float) -> Scalar:
    """J_π(φ) = E[α (log π(a|s) - log π0(a|s)) - min_i Q_θi(s, a)], a reparameterised."""
    return jnp.mean(temperature * log_ratio - q)


def temperature_loss(
    log_temperature: Scalar, log_ratio: Values, target_kl: Scalar | float
) -> Scalar:
    """-log α (KL - target): α rises while the policy is further from π0 than the target."""
    return -log_temperature * jnp.mean(jax.lax.stop_gradient(log_ratio) - target_kl)


def td_target(reward: Values, discount_mask: Values, next_q: Values, discount: float) -> Values:
    """y = r + γ m Q̄(s', a')."""
    return reward + discount * discount_mask * next_q


def imitation_loss(log_prob: Values, mask: Values) -> Scalar:
    """-E[m log π(a|s)]: behaviour cloning of the pairs whose mask m is 1."""
    return -jnp.mean(jax.lax.stop_gradient(mask) * log_prob)


def advantage_weights(advantage: Values, scale: float, limit: float | None) -> Values:
    """w = softmax(min(A, c) / λ) over the batch."""
    limited = advantage if limit is None else jnp.minimum(advantage, limit)
    return jax.nn.softmax(limited / scale)


def weighted_imitation_loss(log_prob: Values, weights: Values) -> Scalar:
    """-Σ_i w_i log π(a_i|s_i), with w a constant that sums to one."""
    return -jnp.sum(jax.lax.stop_gradient(weights) * log_prob)


def over_mean_size(q: Values) -> Values:
    """Q / E|Q|, with the mean a constant; values that are all zero stay zero."""
    return q / jnp.maximum(jax.lax.stop_gradient(jnp.mean(jnp.abs(q))), 1e-6)


def lagrangian(
    q: Values, discrepancy: Values, log_multiplier: Scalar, limit: float | Scalar
) -> Scalar:
    """E[-Q(s, a) + e^ν (MMD(s) - ε)]: the policy minimises it, ν maximises it."""
    return jnp.mean(-q + jnp.exp(log_multiplier) * (discrepancy - limit))
