"""A network's density, from standardised states to location and scale, and its objectives.

All are pure functions of one member; an ensemble maps them over its members.
"""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from nppac.nn.distributions import reference_log_prob
from nppac.nn.mlp import MLP
from nppac.references.neural.config import NetworkFamily, ObjectiveSettings
from nppac.types import ReferenceStats

MEAN_VARIANCE = 1e-2
"""Squared errors count as a Gaussian's of this variance, so that λ weighs on μ as it does on σ²."""

Masks = tuple[Float[Array, "*batch _"], ...] | None
"""For each hidden layer what its units are multiplied by; None for nothing."""
Kept = tuple[Bool[Array | np.ndarray, "*batch _"], ...]
"""For each hidden layer whether a unit is kept."""
Rows = Float[Array, "n d"]


class DensityNetworks(eqx.Module):
    """The networks of one member: μ(s), and ρ(s) with σ² = softplus(ρ) + floor."""

    mean: MLP
    variance: MLP

    def __call__(
        self, x: Float[Array, "n o"], floor: float, masks: Masks = None
    ) -> tuple[Rows, Rows]:
        """Mean and variance of the action."""
        raw = forward(self.variance, x, masks)
        return forward(self.mean, x, masks), variance_of_raw(raw, floor)


class Terms(NamedTuple):
    """What an objective is made of."""

    error: Float[Array, ""]
    """Mean of (a - μ(s))²."""
    nll: Float[Array, ""]
    """Mean of -log π(a|s)."""
    entropy: Float[Array, ""]
    """Entropy estimated by one sample; 0 where no bonus asks for it."""


def forward(network: MLP, x: Float[Array, "n o"], masks: Masks = None) -> Rows:
    """The network's outputs; `masks`, one per hidden layer, multiply what its units give."""
    if masks is None:
        return network(x)
    *hidden, (last_weight, last_bias) = zip(network.weights, network.biases, strict=True)
    for (weight, bias), mask in zip(hidden, masks, strict=True):
        x = jax.nn.relu(x @ weight + bias) * mask
    return x @ last_weight + last_bias


def inverted(kept: Kept | None, dropout: float) -> Masks:
    """Masks that keep the expectation: 1/(1 - p) where a unit is kept, 0 where it is dropped."""
    return None if kept is None else tuple(mask / jnp.float32(1.0 - dropout) for mask in kept)


def variance_of_raw(raw: Float[Array, "*n d"], floor: float) -> Float[Array, "*n d"]:
    """σ² = softplus(ρ) + floor."""
    return jax.nn.softplus(raw) + floor


def scale_of(family: NetworkFamily, variance: Float[Array, "*n d"]) -> Float[Array, "*n d"]:
    """The scale with that variance: σ of a Gaussian, b = √(σ²/2) of a Laplace density."""
    return jnp.sqrt(0.5 * variance if family == "laplace" else variance)


def match_moments(
    loc: Float[Array, "k ..."], variance: Float[Array, "k ..."], floor: float
) -> tuple[Float[Array, "..."], Float[Array, "..."]]:
    """Mean and variance of an equal mixture over the first axis, the variance not below a floor.

    μ = mean μ_k and σ² = mean(σ_k² + μ_k²) - μ², computed as mean σ_k² + mean (μ_k - μ)²: the
    same number, but float32 loses nothing to the difference of squares where the means are large.
    """
    matched = jnp.mean(loc, axis=0)
    spread = jnp.mean((loc - matched) ** 2, axis=0)
    return matched, jnp.maximum(jnp.mean(variance, axis=0) + spread, floor)


def sample(key: PRNGKeyArray, family: NetworkFamily, stats: ReferenceStats) -> Rows:
    """Reparameterised sample ã = loc + scale · ε."""
    draw = jax.random.laplace if family == "laplace" else jax.random.normal
    return jnp.asarray(stats.loc + stats.scale * draw(key, stats.loc.shape, stats.loc.dtype))


def objective(
    networks: DensityNetworks,
    bonus: Float[Array, ""],
    x: Float[Array, "n o"],
    actions: Rows,
    key: PRNGKeyArray,
    settings: ObjectiveSettings,
    masks: Masks = None,
) -> tuple[Float[Array, ""], Terms]:
    """Mean of ‖a - μ(s)‖² / 2σ̄² - log π(a|s) + β log π(ã|s), plus λψᵀψ, with ã ~ π.

    No gradient of the likelihood reaches μ, and none of the squared error reaches σ²: the mean is
    that of a regression, and the variance that of the likelihood around it.
    """
    error = jnp.mean((forward(networks.mean, x, masks) - actions) ** 2)
    residuals = jax.lax.stop_gradient(actions - networks.mean(x))
    stats = _centred(forward(networks.variance, x, masks), settings)
    nll = -jnp.mean(reference_log_prob(settings.family, stats, residuals))
    value, entropy = error * actions.shape[-1] / (2.0 * MEAN_VARIANCE) + nll, jnp.zeros(())
    if settings.bonus:
        drawn = sample(key, settings.family, stats)
        entropy = -jnp.mean(reference_log_prob(settings.family, stats, drawn))
        value = value - bonus * entropy
    if settings.tikhonov:
        squares = [jnp.sum(leaf**2) for leaf in jax.tree.leaves(networks)]
        value = value + settings.tikhonov * sum(squares, start=jnp.zeros(()))
    return value, Terms(error, nll, entropy)


def losses(
    networks: DensityNetworks, x: Float[Array, "n o"], actions: Rows, settings: ObjectiveSettings
) -> Terms:
    """The terms of a set of steps, without dropout and without a bonus."""
    residuals = actions - networks.mean(x)
    stats = _centred(networks.variance(x), settings)
    nll = -jnp.mean(reference_log_prob(settings.family, stats, residuals))
    return Terms(jnp.mean(residuals**2), nll, jnp.zeros(()))


def tuned_bonus(
    bonus: Float[Array, ""],
    entropy: Float[Array, ""],
    action_dim: int,
    settings: ObjectiveSettings,
) -> Float[Array, ""]:
    """One dual step down β(H - H̄), per action, kept at β ≥ 0."""
    target = settings.entropy_target * action_dim
    return jnp.maximum(bonus - settings.entropy_step * (entropy - target) / action_dim, 0.0)


def _centred(raw: Rows, settings: ObjectiveSettings) -> ReferenceStats:
    """The density of the residual a - μ(s)."""
    scale = scale_of(settings.family, variance_of_raw(raw, settings.floor))
    return ReferenceStats(jnp.zeros_like(scale), scale)
