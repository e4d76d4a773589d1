"""What the methods that learn from whole episodes share: a value network, and scaled inputs."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray

from nppac.agents.base import Info
from nppac.agents.common.actor_critic import Scalar, apply, mean_magnitude, require_positive
from nppac.agents.common.returns import Rows, lambda_returns
from nppac.agents.replay import Replay, sample_rows
from nppac.nn.critics import CRITIC_LAST_BOUND
from nppac.nn.mlp import MLP
from nppac.utils.errors import UserError

SMALLEST_SPREAD = 0.02
"""Quantities that vary less than this are not blown up further."""


class Scaling(NamedTuple):
    """Mean and variance of what has been seen; the identity while nothing has been."""

    mean: Float[Array, " n"]
    variance: Float[Array, " n"]
    count: Scalar

    @property
    def spread(self) -> Float[Array, " n"]:
        """Standard deviation, but no less than `SMALLEST_SPREAD`."""
        return jnp.maximum(jnp.sqrt(self.variance), SMALLEST_SPREAD)

    def scaled(self, x: Float[Array, "*batch n"]) -> Float[Array, "*batch n"]:
        """(x - mean) / spread."""
        return (x - self.mean) / self.spread

    def unscaled(self, x: Float[Array, "*batch n"]) -> Float[Array, "*batch n"]:
        """The inverse of `scaled`."""
        return self.mean + self.spread * x

    def extended(self, rows: Float[Array, "rows n"], weights: Rows) -> "Scaling":
        """The same after more rows, each counted by its weight."""
        added = jnp.sum(weights)
        share = added / (self.count + added)
        mean = jnp.average(rows, axis=0, weights=weights)
        variance = jnp.average((rows - mean) ** 2, axis=0, weights=weights)
        moved = mean - self.mean
        spread_out = share * (1.0 - share) * moved**2
        variance = (1.0 - share) * self.variance + share * variance + spread_out
        return Scaling(self.mean + share * moved, variance, self.count + added)


def unscaled(size: int) -> Scaling:
    """The identity."""
    return Scaling(jnp.zeros(size), jnp.ones(size), jnp.zeros(()))


class Estimate(NamedTuple):
    """The λ-return from each row of a replay on, and the value of the state there."""

    returns: Rows
    value: Rows


@dataclass(frozen=True)
class EpisodicAgent(ABC):
    """Settings of a method that fits V(s) to the returns of stored episodes."""

    policy_hidden: tuple[int, ...] = (128, 64)
    """Widths of the policy's hidden layers."""
    critic_hidden: tuple[int, ...] = (128, 64)
    """Widths of the value network's hidden layers."""
    discount: float = 0.99
    """Discount factor γ."""
    gae_lambda: float = 0.95
    """ℓ: how much longer returns count; 0 looks one step ahead, 1 to the end of the episode."""
    critic_updates: int = 200
    """Gradient steps of the value network at the end of each epoch."""
    minibatch_size: int = 256
    """Transitions in a minibatch."""

    def __post_init__(self) -> None:
        require_positive(self, "critic_updates", "minibatch_size")
        if not (0 <= self.discount < 1 and 0 <= self.gae_lambda <= 1):
            raise UserError(
                f"'discount' is {self.discount} and 'gae_lambda' {self.gae_lambda}; they must be "
                "within 0 and 1, and the discount less than 1."
            )

    @property
    def anchored(self) -> bool:
        """These policies act by themselves."""
        return False

    @abstractmethod
    def critic_optimiser(self) -> Any:
        """What the value network is fitted with."""

    def make_critic(self, key: PRNGKeyArray, obs_dim: int) -> MLP:
        """A fresh value network."""
        return MLP(key, obs_dim, self.critic_hidden, 1, CRITIC_LAST_BOUND)

    def value(
        self, critic: MLP, scaling: Scaling, obs: Float[Array, "*batch o"]
    ) -> Float[Array, "*batch"]:
        """V(s): the network's output times 1 / (1 - γ), the return of a reward of 1 for ever."""
        return critic(scaling.scaled(obs))[..., 0] / (1.0 - self.discount)

    def estimate(self, state: Any, replay: Replay) -> Estimate:
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
        self, state: Any, replay: Replay, returns: Rows, key: PRNGKeyArray
    ) -> tuple[Any, Info]:
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


def descend_minibatches(
    optimiser: Any,
    loss: Callable[[Any, Int[Array, " batch"]], Scalar],
    params: Any,
    optimiser_state: Any,
    rows: Int[Array, "steps batch"],
) -> tuple[Any, Any, Scalar, Scalar]:
    """A step for each minibatch of rows; also the mean loss and the mean gradient magnitude."""

    def step(carry: tuple[Any, Any], batch: Int[Array, " batch"]) -> tuple[Any, Any]:
        params, optimiser_state = carry
        value, grads = jax.value_and_grad(loss)(params, batch)
        carry = apply(optimiser, params, grads, optimiser_state)
        return carry, (value, mean_magnitude(grads))

    (params, optimiser_state), (values, gradients) = jax.lax.scan(
        step, (params, optimiser_state), rows
    )
    return params, optimiser_state, jnp.mean(values), jnp.mean(gradients)


def filled(replay: Replay) -> Rows:
    """1 at the rows that hold a transition, 0 at empty ones."""
    return (jnp.arange(replay.capacity) < replay.size).astype(jnp.float32)


def explained_variance(estimate: Estimate, weights: Rows) -> Scalar:
    """1 - Var[G - V] / Var[G]: 1 where the values know the returns, 0 where they know nothing."""

    def variance(x: Rows) -> Scalar:
        return jnp.average((x - jnp.average(x, weights=weights)) ** 2, weights=weights)

    total = variance(estimate.returns)
    unexplained = variance(estimate.returns - estimate.value)
    return jnp.where(total > 0, 1.0 - unexplained / jnp.maximum(total, 1e-12), 0.0)
