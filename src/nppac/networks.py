"""Networks: multi-layer perceptrons, the policy heads and the critic ensemble.

Initialisation follows the authors' code: hidden weights uniform in ±1/√(layer width), biases 0.1,
last layer uniform within a small bound.
"""

from abc import abstractmethod
from collections.abc import Callable
from typing import Literal

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from nppac.distributions import normal_log_prob, normal_sample, tanh_correction
from nppac.types import ReferenceStats

HeadName = Literal["tanh_normal", "normal", "constant_scale", "anchored"]
LOG_SCALE_MIN, LOG_SCALE_MAX = -20.0, 2.0
HIDDEN_BIAS = 0.1
POLICY_LAST_BOUND = 1e-3
CRITIC_LAST_BOUND = 3e-3
LAYER_NORM_EPSILON = 1e-6
TANH_BOUND = 1.0 - 1e-5
"""Largest action whose density under a squashed policy is asked for; at 1 it is infinite."""

Obs = Float[Array, "*batch o"]
Actions = Float[Array, "*batch d"]
Values = Float[Array, "*batch"]


class MLP(eqx.Module):
    """Fully connected network, ReLU between layers by default; weights are (inputs, outputs).

    With `layer_norm` each hidden layer's values are standardised, scaled and shifted before the
    activation.
    """

    weights: tuple[Float[Array, "i j"], ...]
    biases: tuple[Float[Array, " j"], ...]
    norms: tuple[tuple[Float[Array, " j"], Float[Array, " j"]], ...]
    activation: Callable[[Array], Array] = eqx.field(static=True)

    def __init__(
        self,
        key: PRNGKeyArray,
        inputs: int,
        hidden: tuple[int, ...],
        outputs: int,
        last: float,
        *,
        layer_norm: bool = False,
        activation: Callable[[Array], Array] = jax.nn.relu,
    ) -> None:
        self.activation = activation
        self.norms = tuple((jnp.ones(w), jnp.zeros(w)) for w in hidden) if layer_norm else ()
        sizes = (inputs, *hidden, outputs)
        bounds = [width**-0.5 for width in hidden] + [last]
        keys = jax.random.split(key, 2 * len(bounds)).reshape(len(bounds), 2)
        self.weights = tuple(
            jax.random.uniform(k[0], (i, j), minval=-bound, maxval=bound)
            for k, i, j, bound in zip(keys, sizes[:-1], sizes[1:], bounds, strict=True)
        )
        hidden_biases = tuple(jnp.full((width,), HIDDEN_BIAS, jnp.float32) for width in hidden)
        last_bias = jax.random.uniform(keys[-1][1], (outputs,), minval=-last, maxval=last)
        self.biases = (*hidden_biases, last_bias)

    def __call__(self, x: Float[Array, "*batch i"]) -> Float[Array, "*batch j"]:
        """Apply the layers to a single input or to a batch."""
        *hidden, last = zip(self.weights, self.biases, strict=True)
        for i, (weight, bias) in enumerate(hidden):
            x = x @ weight + bias
            if self.norms:
                scale, shift = self.norms[i]
                x = scale * standardized(x) + shift
            x = self.activation(x)
        weight, bias = last
        return x @ weight + bias


def standardized(x: Float[Array, "*batch j"]) -> Float[Array, "*batch j"]:
    """Each row less its mean, over its standard deviation.

    Means are products with a column: XLA does not vectorise sums of rows on processors.
    """
    mean = jnp.full((x.shape[-1], 1), 1.0 / x.shape[-1], x.dtype)
    centred = x - x @ mean
    return centred * jax.lax.rsqrt((centred * centred) @ mean + LAYER_NORM_EPSILON)


class Policy(eqx.Module):
    """An online policy π_φ(a|s)."""

    trunk: eqx.AbstractVar[MLP]

    @abstractmethod
    def loc_scale(self, obs: Obs) -> tuple[Actions, Actions]:
        """Location and scale of a Gaussian, which a squashed policy then squashes."""

    @abstractmethod
    def draw(self, loc: Actions, scale: Actions, key: PRNGKeyArray) -> tuple[Actions, Values]:
        """Reparameterised action of that Gaussian and its log-density."""

    def sample(self, obs: Obs, key: PRNGKeyArray) -> tuple[Actions, Values]:
        """Reparameterised action and its log-density."""
        return self.draw(*self.loc_scale(obs), key)

    @abstractmethod
    def log_prob(self, obs: Obs, action: Actions) -> Values:
        """Log π(a|s) of a given action."""

    @abstractmethod
    def explore(self, obs: Obs, key: PRNGKeyArray, noise: float) -> Actions:
        """An action with the policy's own noise times `noise`: 0 gives the mode."""

    @abstractmethod
    def mode(self, obs: Obs) -> Actions:
        """The deterministic action used in evaluation."""

    def given(self, reference: ReferenceStats | None) -> "Policy":
        """The policy where the reference says this; most policies do not care."""
        return self


def loc_and_scale(trunk: MLP, obs: Obs) -> tuple[Actions, Actions]:
    """A trunk's two outputs: raw location and scale, its logarithm clipped to [-20, 2]."""
    raw_loc, log_scale = jnp.split(trunk(obs), 2, axis=-1)
    return raw_loc, jnp.exp(jnp.clip(log_scale, LOG_SCALE_MIN, LOG_SCALE_MAX))


class TanhNormalPolicy(Policy):
    """Squashed Gaussian a = tanh(u), u ~ N(μ(s), σ(s)²)."""

    trunk: MLP

    def loc_scale(self, obs: Obs) -> tuple[Actions, Actions]:
        """Location and scale before the squashing."""
        return loc_and_scale(self.trunk, obs)

    def mode(self, obs: Obs) -> Actions:
        """Return tanh μ(s)."""
        return jnp.tanh(self.loc_scale(obs)[0])

    def log_prob(self, obs: Obs, action: Actions) -> Values:
        """Log-density of an action, moved inside the box where it lies on its border."""
        loc, scale = self.loc_scale(obs)
        action = jnp.clip(action, -TANH_BOUND, TANH_BOUND)
        return normal_log_prob(jnp.arctanh(action), loc, scale) - tanh_correction(action)

    def draw(self, loc: Actions, scale: Actions, key: PRNGKeyArray) -> tuple[Actions, Values]:
        """Action in (-1, 1) and its log-density."""
        unsquashed = normal_sample(key, loc, scale)
        action = jnp.tanh(unsquashed)
        return action, normal_log_prob(unsquashed, loc, scale) - tanh_correction(action)

    def explore(self, obs: Obs, key: PRNGKeyArray, noise: float) -> Actions:
        """Return tanh(μ(s) + noise · σ(s) ε)."""
        loc, scale = self.loc_scale(obs)
        return jnp.tanh(normal_sample(key, loc, noise * scale))


class GaussianPolicy(Policy):
    """Unsquashed Gaussian N(μ(s), σ²), which can leave the box that the environment clips to."""

    def mode(self, obs: Obs) -> Actions:
        """The mean."""
        return self.loc_scale(obs)[0]

    def log_prob(self, obs: Obs, action: Actions) -> Values:
        """Log-density of any action."""
        return normal_log_prob(action, *self.loc_scale(obs))

    def draw(self, loc: Actions, scale: Actions, key: PRNGKeyArray) -> tuple[Actions, Values]:
        """Action, possibly outside [-1, 1], and its log-density."""
        action = normal_sample(key, loc, scale)
        return action, normal_log_prob(action, loc, scale)

    def explore(self, obs: Obs, key: PRNGKeyArray, noise: float) -> Actions:
        """Return μ(s) + noise · σ ε."""
        loc, scale = self.loc_scale(obs)
        return normal_sample(key, loc, noise * scale)


class NormalPolicy(GaussianPolicy):
    """N(tanh μ(s), σ(s)²): its KL to a Gaussian has a closed form."""

    trunk: MLP

    def loc_scale(self, obs: Obs) -> tuple[Actions, Actions]:
        """Bounded mean, and a scale of each state's own."""
        raw_loc, scale = loc_and_scale(self.trunk, obs)
        return jnp.tanh(raw_loc), scale


class ConstantScalePolicy(GaussianPolicy):
    """N(tanh μ(s), σ²) with one scale for all states, log σ = -6 + 6 sigmoid(ℓ), at first e⁻³."""

    trunk: MLP
    raw_scale: Float[Array, " d"]

    def loc_scale(self, obs: Obs) -> tuple[Actions, Actions]:
        """Bounded mean and the common scale."""
        loc = jnp.tanh(self.trunk(obs))
        scale = jnp.exp(6.0 * jax.nn.sigmoid(self.raw_scale) - 6.0)
        return loc, jnp.broadcast_to(scale, loc.shape)


class AnchoredPolicy(GaussianPolicy):
    """N(μ0(s) + σ0(s) f(s), (c σ0(s))²): a correction f to the reference, in units of its doubt.

    f starts near zero, so that the fresh policy is the reference itself. |f| stays below `reach`.
    """

    trunk: MLP
    spread: float = eqx.field(static=True)
    reach: float = eqx.field(static=True)
    anchor: ReferenceStats | None = None

    def given(self, reference: ReferenceStats | None) -> "AnchoredPolicy":
        """The policy at states where the reference has these statistics."""
        return AnchoredPolicy(self.trunk, self.spread, self.reach, reference)

    def correction(self, obs: Obs) -> Actions:
        """f(s), each entry within ± reach."""
        return self.reach * jnp.tanh(self.trunk(obs) / self.reach)

    def loc_scale(self, obs: Obs) -> tuple[Actions, Actions]:
        """Corrected mean, and a share of the reference's scale."""
        if self.anchor is None:
            raise ValueError("an anchored policy acts only where its reference is given")
        loc, scale = self.anchor
        return loc + scale * self.correction(obs), self.spread * scale


class LinearPolicy(GaussianPolicy):
    """N(μ(s), σ²) with an unbounded mean and one scale for all states, known by its logarithm."""

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
    spread: float = 0.5,
    reach: float = 1.0,
) -> Policy:
    """A fresh policy network with the named head; an anchored one has a spread and a reach."""
    outputs = action_dim if head in ("constant_scale", "anchored") else 2 * action_dim
    trunk = MLP(key, obs_dim, hidden, outputs, POLICY_LAST_BOUND)
    if head == "anchored":
        return AnchoredPolicy(trunk, spread, reach)
    if head == "constant_scale":
        return ConstantScalePolicy(trunk, jnp.zeros(action_dim))
    return TanhNormalPolicy(trunk) if head == "tanh_normal" else NormalPolicy(trunk)


class CriticEnsemble(eqx.Module):
    """n independent critics Q_θ(s, a), their weights stacked in one network."""

    members: MLP

    def __init__(
        self,
        key: PRNGKeyArray,
        n: int,
        obs_dim: int,
        action_dim: int,
        hidden: tuple[int, ...],
        layer_norm: bool = False,
    ) -> None:
        def member(k: PRNGKeyArray) -> MLP:
            inputs = obs_dim + action_dim
            return MLP(k, inputs, hidden, 1, CRITIC_LAST_BOUND, layer_norm=layer_norm)

        self.members = jax.vmap(member)(jax.random.split(key, n))

    def __call__(self, obs: Obs, action: Actions) -> Float[Array, "n *batch"]:
        """Values of every member."""
        inputs = jnp.concatenate([obs, action], axis=-1)
        if self.members.norms or len(self.members.weights) == 1:
            return jax.vmap(lambda member: member(inputs))(self.members)[..., 0]
        return self._side_by_side(inputs)

    def _side_by_side(self, inputs: Float[Array, "*batch i"]) -> Float[Array, "n *batch"]:
        """The same without normalisation, for which products of their own are faster than stacked.

        The first layers, narrow in their inputs, are one wide product.
        """
        (first, *weights), (bias, *biases) = self.members.weights, self.members.biases
        activation, n = self.members.activation, len(first)
        wide = activation(inputs @ jnp.concatenate(first, axis=-1) + jnp.ravel(bias))
        values = []
        for i, x in enumerate(jnp.split(wide, n, axis=-1)):
            x = x @ weights[0][i] + biases[0][i]
            for weight, bias in zip(weights[1:], biases[1:], strict=True):
                x = activation(x) @ weight[i] + bias[i]
            values.append(x[..., 0])
        return jnp.stack(values)
