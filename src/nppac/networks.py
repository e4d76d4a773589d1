"""Networks: multi-layer perceptrons, the two policy heads and the critic ensemble.

Initialisation follows the authors' code: hidden weights uniform in ±1/√(layer width), biases 0.1,
last layer uniform within a small bound.
"""

from abc import abstractmethod
from typing import Literal

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from nppac.distributions import normal_log_prob, normal_sample, tanh_correction

HeadName = Literal["tanh_normal", "normal"]
LOG_SCALE_MIN, LOG_SCALE_MAX = -20.0, 2.0
HIDDEN_BIAS = 0.1
POLICY_LAST_BOUND = 1e-3
CRITIC_LAST_BOUND = 3e-3

Obs = Float[Array, "*batch o"]
Actions = Float[Array, "*batch d"]
Values = Float[Array, "*batch"]


class MLP(eqx.Module):
    """Fully connected network with ReLU between layers; weights are (inputs, outputs)."""

    weights: tuple[Float[Array, "i j"], ...]
    biases: tuple[Float[Array, " j"], ...]

    def __init__(
        self, key: PRNGKeyArray, inputs: int, hidden: tuple[int, ...], outputs: int, last: float
    ) -> None:
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
        for weight, bias in hidden:
            x = jax.nn.relu(x @ weight + bias)
        weight, bias = last
        return x @ weight + bias


class Policy(eqx.Module):
    """An online policy π_φ(a|s)."""

    trunk: eqx.AbstractVar[MLP]

    @abstractmethod
    def sample(self, obs: Obs, key: PRNGKeyArray) -> tuple[Actions, Values]:
        """Reparameterised action and its log-density."""

    @abstractmethod
    def explore(self, obs: Obs, key: PRNGKeyArray, noise: float) -> Actions:
        """An action with the policy's own noise times `noise`: 0 gives the mode."""

    def mode(self, obs: Obs) -> Actions:
        """The deterministic action used in evaluation: tanh μ(s)."""
        return jnp.tanh(self.outputs(obs)[0])

    def outputs(self, obs: Obs) -> tuple[Actions, Actions]:
        """The trunk's two outputs: raw location and scale, its logarithm clipped to [-20, 2]."""
        raw_loc, log_scale = jnp.split(self.trunk(obs), 2, axis=-1)
        return raw_loc, jnp.exp(jnp.clip(log_scale, LOG_SCALE_MIN, LOG_SCALE_MAX))


class TanhNormalPolicy(Policy):
    """Squashed Gaussian a = tanh(u), u ~ N(μ(s), σ(s)²)."""

    trunk: MLP

    def sample(self, obs: Obs, key: PRNGKeyArray) -> tuple[Actions, Values]:
        """Action in (-1, 1) and its log-density."""
        loc, scale = self.outputs(obs)
        unsquashed = normal_sample(key, loc, scale)
        action = jnp.tanh(unsquashed)
        return action, normal_log_prob(unsquashed, loc, scale) - tanh_correction(action)

    def explore(self, obs: Obs, key: PRNGKeyArray, noise: float) -> Actions:
        """Return tanh(μ(s) + noise · σ(s) ε)."""
        loc, scale = self.outputs(obs)
        return jnp.tanh(normal_sample(key, loc, noise * scale))


class NormalPolicy(Policy):
    """Unsquashed Gaussian N(tanh μ(s), σ(s)²): its KL to a Gaussian has a closed form."""

    trunk: MLP

    def loc_scale(self, obs: Obs) -> tuple[Actions, Actions]:
        """Mean and scale of the action itself."""
        raw_loc, scale = self.outputs(obs)
        return jnp.tanh(raw_loc), scale

    def sample(self, obs: Obs, key: PRNGKeyArray) -> tuple[Actions, Values]:
        """Action, possibly outside [-1, 1], and its log-density."""
        loc, scale = self.loc_scale(obs)
        action = normal_sample(key, loc, scale)
        return action, normal_log_prob(action, loc, scale)

    def explore(self, obs: Obs, key: PRNGKeyArray, noise: float) -> Actions:
        """Return tanh μ(s) + noise · σ(s) ε."""
        loc, scale = self.loc_scale(obs)
        return normal_sample(key, loc, noise * scale)


def make_policy(
    key: PRNGKeyArray, head: HeadName, obs_dim: int, action_dim: int, hidden: tuple[int, ...]
) -> Policy:
    """A fresh policy network with the named head."""
    trunk = MLP(key, obs_dim, hidden, 2 * action_dim, POLICY_LAST_BOUND)
    return TanhNormalPolicy(trunk) if head == "tanh_normal" else NormalPolicy(trunk)


class CriticEnsemble(eqx.Module):
    """n independent critics Q_θ(s, a), their weights stacked so that they run as one product."""

    members: MLP

    def __init__(
        self, key: PRNGKeyArray, n: int, obs_dim: int, action_dim: int, hidden: tuple[int, ...]
    ) -> None:
        def member(k: PRNGKeyArray) -> MLP:
            return MLP(k, obs_dim + action_dim, hidden, 1, CRITIC_LAST_BOUND)

        self.members = jax.vmap(member)(jax.random.split(key, n))

    def __call__(self, obs: Obs, action: Actions) -> Float[Array, "n *batch"]:
        """Values of every member."""
        inputs = jnp.concatenate([obs, action], axis=-1)
        return jax.vmap(lambda member: member(inputs))(self.members)[..., 0]
