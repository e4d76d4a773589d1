"""A network's density: from standardised states to location and scale, and what it is trained by.

All are pure functions of one network; an ensemble maps them over its members.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from nppac.nn.distributions import reference_log_prob
from nppac.nn.mlp import MLP
from nppac.references.neural.config import NetworkConfig
from nppac.types import Family, ReferenceStats


class Terms(NamedTuple):
    """What an objective is made of: mean -log π(a|s), and the entropy estimated by one sample."""

    nll: Any
    entropy: Any


def forward(network: MLP, x: Any, masks: tuple[Any, ...] | None = None) -> Any:
    """The network's outputs; `masks`, one per hidden layer, multiply what its units give."""
    if masks is None:
        return network(x)
    *hidden, (last_weight, last_bias) = zip(network.weights, network.biases, strict=True)
    for (weight, bias), mask in zip(hidden, masks, strict=True):
        x = jax.nn.relu(x @ weight + bias) * mask
    return x @ last_weight + last_bias


def moments(outputs: Any, floor: float) -> tuple[Any, Any]:
    """Mean and variance of the action: outputs (μ, ρ) with σ² = softplus(ρ) + floor."""
    loc, raw = jnp.split(outputs, 2, axis=-1)
    return loc, jax.nn.softplus(raw) + floor


def scale_of(family: Family, variance: Any) -> Any:
    """The scale with that variance: σ of a Gaussian, b = √(σ²/2) of a Laplace density."""
    return jnp.sqrt(0.5 * variance if family == "laplace" else variance)


def match_moments(loc: Any, variance: Any, floor: float) -> tuple[Any, Any]:
    """Mean and variance of an equal mixture over the first axis, the variance not below a floor.

    μ = mean μ_k and σ² = mean(σ_k² + μ_k²) - μ², computed as mean σ_k² + mean (μ_k - μ)²: the
    same number, but float32 loses nothing to the difference of squares where the means are large.
    """
    matched = jnp.mean(loc, axis=0)
    spread = jnp.mean((loc - matched) ** 2, axis=0)
    return matched, jnp.maximum(jnp.mean(variance, axis=0) + spread, floor)


def mixture_density(outputs: Any, config: NetworkConfig) -> ReferenceStats:
    """Location and scale that match the moments of the mixture over the outputs' first axis."""
    loc, variance = match_moments(*moments(outputs, config.floor), config.floor)
    return ReferenceStats(loc, scale_of(config.family, variance))


def density(outputs: Any, config: NetworkConfig) -> ReferenceStats:
    """Location and scale of the action."""
    loc, variance = moments(outputs, config.floor)
    return ReferenceStats(loc, scale_of(config.family, variance))


def sample(key: Any, family: Family, stats: ReferenceStats) -> Any:
    """Reparameterised sample ã = loc + scale · ε."""
    draw = jax.random.laplace if family == "laplace" else jax.random.normal
    return stats.loc + stats.scale * draw(key, stats.loc.shape, stats.loc.dtype)


def negative_log_likelihood(network: MLP, x: Any, actions: Any, config: NetworkConfig) -> Any:
    """Mean of -log π(a|s) over a set of steps, without dropout."""
    stats = density(network(x), config)
    return -jnp.mean(reference_log_prob(config.family, stats, actions))


def squared_norm(network: MLP) -> Any:
    """ψᵀψ over all weights and biases."""
    return sum(jnp.sum(leaf**2) for leaf in jax.tree.leaves(network))


def objective(
    network: MLP,
    bonus: Any,
    x: Any,
    actions: Any,
    key: Any,
    config: NetworkConfig,
    masks: tuple[Any, ...] | None = None,
) -> tuple[Any, Terms]:
    """Mean of -log π(a|s) + β log π(ã|s), plus λψᵀψ, with ã ~ π reparameterised."""
    stats = density(forward(network, x, masks), config)
    nll = -jnp.mean(reference_log_prob(config.family, stats, actions))
    value, entropy = nll, jnp.zeros(())
    if config.entropy_bonus:
        drawn = sample(key, config.family, stats)
        entropy = -jnp.mean(reference_log_prob(config.family, stats, drawn))
        value = value - bonus * entropy
    if config.tikhonov:
        value = value + config.tikhonov * squared_norm(network)
    return value, Terms(nll, entropy)


def tuned_bonus(bonus: Any, entropy: Any, action_dim: int, config: NetworkConfig) -> Any:
    """One dual step down β(H - H̄), per action, kept at β ≥ 0."""
    target = config.entropy_target * action_dim
    return jnp.maximum(bonus - config.entropy_step * (entropy - target) / action_dim, 0.0)
