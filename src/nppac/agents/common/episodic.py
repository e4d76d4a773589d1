"""What methods that learn from whole episodes share: a value network and scaled inputs."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray

from nppac.agents.base import Info, State
from nppac.agents.common.optimise import Optimiser, descend_minibatches, gradient_step
from nppac.agents.common.returns import RowValues, lambda_returns
from nppac.agents.replay import Replay, sample_rows
from nppac.nn.critics import CRITIC_LAST_BOUND
from nppac.nn.mlp import MLP
from nppac.nn.policies import LinearPolicy
from nppac.types import AnyArray, Obs, Scalar
from nppac.utils.settings import Fraction, ProperFraction, Size, Widths, settings

MIN_STD = 0.02
"""Smallest standard deviation to divide by; dimensions that vary less are not amplified further."""


class Scaling(NamedTuple):
    """Running mean and variance, for standardising; initially the identity."""

    mean: Float[Array, " n"]
    variance: Float[Array, " n"]
    count: Scalar  # pyright: ignore[reportIncompatibleMethodOverride] (checkpoints know the name)

    @property
    def std(self) -> Float[Array, " n"]:
        """Standard deviation, but no less than `MIN_STD`."""
        return jnp.maximum(jnp.sqrt(self.variance), MIN_STD)

    def scaled(self, x: Float[AnyArray, "*batch n"]) -> Float[Array, "*batch n"]:
        """(x - mean) / std."""
        return jnp.subtract(x, self.mean) / self.std

    def unscaled(self, x: Float[AnyArray, "*batch n"]) -> Float[Array, "*batch n"]:
        """The inverse of `scaled`."""
        return self.mean + self.std * x

    def extended(self, rows: Float[AnyArray, "rows n"], weights: RowValues) -> "Scaling":
        """The scaling after more rows, each with its weight."""
        added = jnp.sum(weights)
        share = added / (self.count + added)
        mean = jnp.average(rows, axis=0, weights=weights)
        variance = jnp.average((rows - mean) ** 2, axis=0, weights=weights)
        moved = mean - self.mean
        between = share * (1.0 - share) * moved**2
        variance = (1.0 - share) * self.variance + share * variance + between
        return Scaling(self.mean + share * moved, variance, self.count + added)


def identity_scaling(size: int) -> Scaling:
    """A scaling that has seen nothing: the identity."""
    return Scaling(jnp.zeros(size), jnp.ones(size), jnp.zeros(()))


class Estimate(NamedTuple):
    """The λ-return and the value at each row of the replay."""

    returns: RowValues
    value: RowValues


@settings
class EpisodicAgent(ABC):
    """Settings of a method that fits V(s) to the λ-returns G of stored episodes.

    J_V = ½ E[(1 - γ)² (V(s) - G)²]
    """

    policy_hidden: Widths = (128, 64)
    """Widths of the policy's hidden layers."""
    critic_hidden: Widths = (128, 64)
    """Widths of the value network's hidden layers."""
    discount: ProperFraction = 0.99
    """Discount factor γ."""
    gae_lambda: Fraction = 0.95
    """λ of the returns: 0 bootstraps after one step, 1 at the end of the episode."""
    critic_updates: Size = 200
    """Gradient steps of the value network at the end of each epoch."""
    minibatch_size: Size = 256
    """Transitions in a minibatch."""

    @property
    def anchored(self) -> bool:
        """These policies do not use the reference."""
        return False

    @abstractmethod
    def critic_optimiser(self) -> Optimiser:
        """The optimiser of the value network."""

    def make_critic(self, key: PRNGKeyArray, obs_dim: int) -> MLP:
        """A fresh value network."""
        return MLP(key, obs_dim, self.critic_hidden, 1, CRITIC_LAST_BOUND)

    def value(self, critic: MLP, scaling: Scaling, obs: Obs) -> Float[Array, "*batch"]:
        """V(s): the network's output over 1 - γ, so that the network predicts rewards."""
        return critic(scaling.scaled(obs))[..., 0] / (1.0 - self.discount)

    def estimate(self, state: State, replay: Replay) -> Estimate:
        """λ-returns and values of every row."""
        stored = replay.storage
        returns = lambda_returns(
            stored.reward,
            stored.discount_mask,
            stored.episode_end,
            self.value(state.critic, state.scaling, stored.next_obs),
            self.discount,
            self.gae_lambda,
            replay.position,
        )
        return Estimate(returns, self.value(state.critic, state.scaling, stored.obs))

    def fit_critic(
        self, state: State, replay: Replay, returns: RowValues, key: PRNGKeyArray
    ) -> tuple[State, Info]:
        """Steps on ½ E[(1 - γ)² (V(s) - G)²], with G a constant."""

        def loss(critic: MLP, rows: Int[Array, " batch"]) -> Scalar:
            value = self.value(critic, state.scaling, replay.storage.obs[rows])
            return 0.5 * jnp.mean(((1.0 - self.discount) * (value - returns[rows])) ** 2)

        rows = sample_rows(replay, key, self.critic_updates, self.minibatch_size)
        critic, optimiser, value, gradient = descend_minibatches(
            self.critic_optimiser(), loss, state.critic, state.critic_optimiser, rows
        )
        state = state._replace(critic=critic, critic_optimiser=optimiser)
        return state, {"critic_loss": value, "critic_gradient": gradient}


def step_trunk(
    state: State, loss: Callable[[MLP], Scalar], optimiser: Optimiser
) -> tuple[State, Info]:
    """One pretraining step of the policy's network; the policy's scale stays."""
    trunk, optimiser_state, value = gradient_step(
        loss, state.policy.trunk, optimiser, state.policy_optimiser
    )
    policy = LinearPolicy(trunk, state.policy.log_scale)
    state = state._replace(policy=policy, policy_optimiser=optimiser_state)
    return state, {"pretrain_loss": value}


def filled(replay: Replay) -> RowValues:
    """1 at the rows that hold a transition, 0 at empty ones."""
    return (jnp.arange(replay.capacity) < replay.size).astype(jnp.float32)


def value_report(estimate: Estimate, weights: RowValues) -> Info:
    """What both methods report of their values."""
    return {
        "value": jnp.average(estimate.value, weights=weights),
        "explained_variance": explained_variance(estimate, weights),
    }


def explained_variance(estimate: Estimate, weights: RowValues) -> Scalar:
    """1 - Var[G - V] / Var[G]: 1 if the values predict the returns exactly, 0 if not at all."""

    def variance(x: RowValues) -> Scalar:
        return jnp.average((x - jnp.average(x, weights=weights)) ** 2, weights=weights)

    total = variance(estimate.returns)
    unexplained = variance(estimate.returns - estimate.value)
    return jnp.where(total > 0, 1.0 - unexplained / jnp.maximum(total, 1e-12), 0.0)
