"""Policy heads: the densities that an online policy π_φ(a|s) can have."""

from abc import abstractmethod
from typing import Literal

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from nppac.nn.distributions import normal_log_prob, normal_sample, tanh_correction
from nppac.nn.mlp import MLP
from nppac.nn.units import at_least
from nppac.types import Actions, LogProbs, Obs, ReferenceStats

HeadName = Literal["tanh_normal", "normal", "constant_scale", "anchored"]
LOG_SCALE_MIN, LOG_SCALE_MAX = -20.0, 2.0
POLICY_LAST_BOUND = 1e-3
TANH_BOUND = 1.0 - 1e-5
"""Actions are clipped to this before their squashed density is computed; at 1 it is infinite."""


class Policy(eqx.Module):
    """An online policy π_φ(a|s)."""

    trunk: eqx.AbstractVar[MLP]

    @abstractmethod
    def loc_scale(self, obs: Obs) -> tuple[Actions, Actions]:
        """Location and scale of the Gaussian, before any squashing."""

    @abstractmethod
    def draw(self, loc: Actions, scale: Actions, key: PRNGKeyArray) -> tuple[Actions, LogProbs]:
        """Reparameterised action from the given location and scale, and its log-density."""

    def sample(self, obs: Obs, key: PRNGKeyArray) -> tuple[Actions, LogProbs]:
        """Reparameterised action and its log-density."""
        return self.draw(*self.loc_scale(obs), key)

    @abstractmethod
    def log_prob(self, obs: Obs, action: Actions) -> LogProbs:
        """log π(a|s) of a given action."""

    @abstractmethod
    def explore(self, obs: Obs, key: PRNGKeyArray, noise: float) -> Actions:
        """An action whose noise is the policy's own scale times `noise`; 0 gives the mode."""

    @abstractmethod
    def mode(self, obs: Obs) -> Actions:
        """The deterministic action used in evaluation."""

    def condition_on(self, reference: ReferenceStats | None) -> "Policy":
        """The policy at states with these reference statistics; most policies do not use them."""
        return self


def loc_and_scale(trunk: MLP, obs: Obs) -> tuple[Actions, Actions]:
    """Raw location and scale from a trunk's outputs; the log-scale is clipped to [-20, 2]."""
    raw_loc, log_scale = jnp.split(trunk(obs), 2, axis=-1)
    return raw_loc, jnp.exp(jnp.clip(log_scale, LOG_SCALE_MIN, LOG_SCALE_MAX))


class TanhNormalPolicy(Policy):
    """Squashed Gaussian a = tanh(u), u ~ N(μ(s), σ(s)²)."""

    trunk: MLP

    def loc_scale(self, obs: Obs) -> tuple[Actions, Actions]:
        """Location and scale before the squashing."""
        return loc_and_scale(self.trunk, obs)

    def mode(self, obs: Obs) -> Actions:
        """tanh μ(s)."""
        return jnp.tanh(self.loc_scale(obs)[0])

    def log_prob(self, obs: Obs, action: Actions) -> LogProbs:
        """Log-density of an action; actions on the border of the box are moved inside first."""
        loc, scale = self.loc_scale(obs)
        action = jnp.clip(action, -TANH_BOUND, TANH_BOUND)
        return normal_log_prob(jnp.arctanh(action), loc, scale) - tanh_correction(action)

    def draw(self, loc: Actions, scale: Actions, key: PRNGKeyArray) -> tuple[Actions, LogProbs]:
        """Action in (-1, 1) and its log-density."""
        unsquashed = normal_sample(key, loc, scale)
        action = jnp.tanh(unsquashed)
        return action, normal_log_prob(unsquashed, loc, scale) - tanh_correction(action)

    def explore(self, obs: Obs, key: PRNGKeyArray, noise: float) -> Actions:
        """tanh(μ(s) + noise · σ(s) ε)."""
        loc, scale = self.loc_scale(obs)
        return jnp.tanh(normal_sample(key, loc, noise * scale))


class GaussianPolicy(Policy):
    """Unsquashed Gaussian N(μ(s), σ²); its samples can leave the box [-1, 1]^d."""

    def mode(self, obs: Obs) -> Actions:
        """The mean."""
        return self.loc_scale(obs)[0]

    def log_prob(self, obs: Obs, action: Actions) -> LogProbs:
        """Log-density of any action."""
        return normal_log_prob(action, *self.loc_scale(obs))

    def draw(self, loc: Actions, scale: Actions, key: PRNGKeyArray) -> tuple[Actions, LogProbs]:
        """Action, possibly outside [-1, 1], and its log-density."""
        action = normal_sample(key, loc, scale)
        return action, normal_log_prob(action, loc, scale)

    def explore(self, obs: Obs, key: PRNGKeyArray, noise: float) -> Actions:
        """μ(s) + noise · σ ε."""
        loc, scale = self.loc_scale(obs)
        return normal_sample(key, loc, noise * scale)


class NormalPolicy(GaussianPolicy):
    """N(tanh μ(s), σ(s)²): its KL to a Gaussian has a closed form."""

    trunk: MLP

    def loc_scale(self, obs: Obs) -> tuple[Actions, Actions]:
        """Bounded mean and state-dependent scale."""
        raw_loc, scale = loc_and_scale(self.trunk, obs)
        return jnp.tanh(raw_loc), scale


class ConstantScalePolicy(GaussianPolicy):
    """N(tanh μ(s), σ²) with one scale for all states: log σ = -6 + 6 sigmoid(ℓ), initially -3."""

    trunk: MLP
    raw_scale: Float[Array, " d"]

    def loc_scale(self, obs: Obs) -> tuple[Actions, Actions]:
        """Bounded mean and the common scale."""
        loc = jnp.tanh(self.trunk(obs))
        scale = jnp.exp(6.0 * jax.nn.sigmoid(self.raw_scale) - 6.0)
        return loc, jnp.broadcast_to(scale, loc.shape)


class AnchoredPolicy(GaussianPolicy):
    """N(μ0(s) + σ0(s) f(s), (c σ0(s))²): a correction f to the reference, in units of its scale.

    c is `noise_ratio`. |f| is bounded by `max_correction`. f starts near zero, so that the mean of
    the initial policy is the reference's. `smallest` holds the smallest σ0 of each action, which
    nobody trains; it is empty where there is none.
    """

    trunk: MLP
    noise_ratio: float = eqx.field(static=True)
    max_correction: float = eqx.field(static=True)
    smallest: tuple[Float[Array, " d"], ...] = ()
    anchor: ReferenceStats | None = None

    def condition_on(self, reference: ReferenceStats | None) -> "AnchoredPolicy":
        """The policy at states where the reference has these statistics."""
        anchor = None if reference is None else at_least(reference, self.smallest)
        settings = self.noise_ratio, self.max_correction, self.smallest
        return AnchoredPolicy(self.trunk, *settings, anchor)

    def correction(self, obs: Obs) -> Actions:
        """f(s) = ρ tanh(g(s) / ρ), with ρ the largest correction and g the network."""
        return self.max_correction * jnp.tanh(self.trunk(obs) / self.max_correction)

    def loc_scale(self, obs: Obs) -> tuple[Actions, Actions]:
        """Corrected mean, and `noise_ratio` times the reference's scale."""
        if self.anchor is None:
            raise ValueError("an anchored policy needs the reference's statistics")
        loc, scale = self.anchor
        return loc + scale * self.correction(obs), self.noise_ratio * scale


class LinearPolicy(GaussianPolicy):
    """N(μ(s), σ²) with an unbounded mean and one scale for all states, stored as log σ."""

    trunk: MLP
    log_scale: Float[Array, " d"]

    def loc_scale(self, obs: Obs) -> tuple[Actions, Actions]:
        """Mean and the common scale."""
        loc = self.trunk(obs)
        return loc, jnp.broadcast_to(jnp.exp(self.log_scale), loc.shape)


def make_policy(
    key: PRNGKeyArray,
    head: HeadName,
    obs_dim: int,
    action_dim: int,
    hidden: tuple[int, ...],
    noise_ratio: float = 0.5,
    max_correction: float = 1.0,
    standardise: bool = False,
    floored: bool = False,
) -> Policy:
    """A fresh policy with the named head; noise, correction and floor are for the anchored one."""
    outputs = action_dim if head in ("constant_scale", "anchored") else 2 * action_dim
    trunk = MLP(key, obs_dim, hidden, outputs, POLICY_LAST_BOUND, standardise=standardise)
    if head == "anchored":
        smallest = (jnp.zeros(action_dim),) if floored else ()
        return AnchoredPolicy(trunk, noise_ratio, max_correction, smallest)
    if head == "constant_scale":
        return ConstantScalePolicy(trunk, jnp.zeros(action_dim))
    return TanhNormalPolicy(trunk) if head == "tanh_normal" else NormalPolicy(trunk)
