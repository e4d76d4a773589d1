"""Densities of policies and references: sampling, log-densities and divergences.

Every log-density sums over the action's last axis, so that a batch of actions (B, d) gives (B,).
"""

import math

import jax
import jax.numpy as jnp
from jaxtyping import PRNGKeyArray

from nppac.types import Actions, Family, LogProbs, ReferenceStats

LOG_2 = math.log(2.0)
LOG_SQRT_2PI = 0.5 * math.log(2.0 * math.pi)
TANH_EPSILON = 1e-6  # keeps log(1 - a²) finite where tanh saturates in float32


def normal_sample(key: PRNGKeyArray, loc: Actions, scale: Actions) -> Actions:
    """Reparameterised sample a = loc + scale · ε."""
    return loc + scale * jax.random.normal(key, loc.shape, loc.dtype)


def normal_log_prob(action: Actions, loc: Actions, scale: Actions) -> LogProbs:
    """log N(a; loc, scale²)."""
    standardised = (action - loc) / scale
    return jnp.sum(-0.5 * standardised**2 - jnp.log(scale) - LOG_SQRT_2PI, axis=-1)


def normal_kl(loc: Actions, scale: Actions, loc_0: Actions, scale_0: Actions) -> LogProbs:
    """KL(N(loc, scale²) ‖ N(loc_0, scale_0²)) = log σ0/σ + (σ² + (μ - μ0)²) / 2σ0² - ½."""
    quadratic = (scale**2 + (loc - loc_0) ** 2) / (2.0 * scale_0**2)
    return jnp.sum(jnp.log(scale_0 / scale) + quadratic - 0.5, axis=-1)


def mean_kl(loc: Actions, loc_0: Actions, scale_0: Actions) -> LogProbs:
    """½ ‖(μ - μ0) / σ0‖²: the part of the KL between Gaussians that depends on the means."""
    return 0.5 * jnp.sum(((loc - loc_0) / scale_0) ** 2, axis=-1)


def laplace_log_prob(action: Actions, loc: Actions, scale: Actions) -> LogProbs:
    """log Laplace(a; loc, b) = -|a - loc| / b - log 2b."""
    return jnp.sum(-jnp.abs(action - loc) / scale - jnp.log(2.0 * scale), axis=-1)


def uniform_log_prob(action: Actions) -> LogProbs:
    """Log-density of the uniform distribution on the box [-1, 1]^d: -d log 2.

    An unsquashed policy can sample outside the box, where the true density is zero. The same
    constant is used there, so that the reference regularises only the entropy, as in SAC.
    """
    return jnp.full(action.shape[:-1], -action.shape[-1] * LOG_2, action.dtype)


def tanh_correction(action: Actions) -> LogProbs:
    """log |det da/du| of a = tanh(u): Σ log(1 - a² + 1e-6)."""
    return jnp.sum(jnp.log1p(TANH_EPSILON - action**2), axis=-1)


def reference_log_prob(family: Family, stats: ReferenceStats, action: Actions) -> LogProbs:
    """log π0(a|s) of a reference of the given family with the given statistics."""
    if family == "normal":
        return normal_log_prob(action, stats.loc, stats.scale)
    if family == "laplace":
        return laplace_log_prob(action, stats.loc, stats.scale)
    return uniform_log_prob(action)
