"""AWR (Peng et al., 2019): the policy imitates stored episodes, weighted by their advantage."""

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float, Int, PRNGKeyArray

from nppac.agents.base import Info
from nppac.agents.common.actor_critic import Scalar, apply, require_not_negative, require_positive
from nppac.agents.common.episodic import (
    EpisodicAgent,
    Scaling,
    descend_minibatches,
    explained_variance,
    filled,
    unscaled,
)
from nppac.agents.common.returns import Rows, generalised_advantage, standardised
from nppac.agents.replay import Replay, sample_rows
from nppac.nn.critics import CRITIC_LAST_BOUND
from nppac.nn.distributions import normal_kl
from nppac.nn.mlp import MLP
from nppac.nn.policies import LinearPolicy
from nppac.types import DemoBatch, Family, ReferenceStats

ADVANTAGE_EPSILON = 1e-5
LAST_BOUND = 0.01


class AWRState(NamedTuple):
    """Everything that learns; the policy's scale does not."""

    policy: LinearPolicy
    critic: MLP
    policy_optimiser: optax.OptState
    critic_optimiser: optax.OptState
    scaling: Scaling


@dataclass(frozen=True)
class AWR(EpisodicAgent):
    """Settings of AWR; an epoch ends with steps of the value network, then of the policy."""

    policy_updates: int = 1_000
    """Gradient steps of the policy at the end of each epoch."""
    policy_learning_rate: float = 5e-5
    """Step size of the policy's stochastic gradient descent."""
    critic_learning_rate: float = 1e-2
    """Step size of the value network's stochastic gradient descent."""
    momentum: float = 0.9
    """Momentum of both."""
    scale: float = 0.4
    """σ of the policy in every state and dimension; it is not learned."""
    advantage_scale: float = 1.0
    """T: standardised advantages are divided by it before they are exponentiated."""
    weight_limit: float = 20.0
    """No transition counts more than this."""
    box_weight: float = 10.0
    """Weight of the loss that keeps the policy's mean inside the box of actions."""

    def __post_init__(self) -> None:
        super().__post_init__()
        require_positive(self, "policy_updates", "policy_learning_rate", "critic_learning_rate")
        require_positive(self, "scale", "advantage_scale", "weight_limit")
        require_not_negative(self, "momentum", "box_weight")

    @property
    def updates_per_epoch(self) -> int:
        """Gradient steps that one call of `learn` makes."""
        return self.critic_updates + self.policy_updates

    def policy_optimiser(self) -> Any:
        """What the policy's mean is fitted with."""
        return optax.sgd(self.policy_learning_rate, momentum=self.momentum)

    def critic_optimiser(self) -> Any:
        """What the value network is fitted with."""
        return optax.sgd(self.critic_learning_rate, momentum=self.momentum)

    def init(self, key: PRNGKeyArray, obs_dim: int, action_dim: int) -> AWRState:
        """Fresh networks."""
        policy_key, critic_key = jax.random.split(key)
        trunk = MLP(policy_key, obs_dim, self.policy_hidden, action_dim, LAST_BOUND)
        trunk = glorot(trunk, policy_key, LAST_BOUND)
        critic = glorot(self.make_critic(critic_key, obs_dim), critic_key, CRITIC_LAST_BOUND)
        return AWRState(
            policy=LinearPolicy(trunk, jnp.full(action_dim, math.log(self.scale))),
            critic=critic,
            policy_optimiser=self.policy_optimiser().init(trunk),
            critic_optimiser=self.critic_optimiser().init(critic),
            scaling=unscaled(obs_dim),
        )

    def sample(
        self,
        state: AWRState,
        obs: Float[Array, "batch o"],
        reference: ReferenceStats | None,
        key: PRNGKeyArray,
    ) -> Float[Array, "batch d"]:
        """Actions sampled from the policy."""
        return state.policy.sample(state.scaling.scaled(obs), key)[0]

    def mode(
        self, state: AWRState, obs: Float[Array, "batch o"], reference: ReferenceStats | None
    ) -> Float[Array, "batch d"]:
        """The policy's mean."""
        return state.policy.mode(state.scaling.scaled(obs))

    def pretrain_step(
        self, state: AWRState, demo_batch: DemoBatch, key: PRNGKeyArray, family: Family
    ) -> tuple[AWRState, Info]:
        """One step on the policy's loss with equal weights."""
        ones = jnp.ones(len(demo_batch.obs))
        state = state._replace(scaling=state.scaling.extended(demo_batch.obs, ones))
        obs = state.scaling.scaled(demo_batch.obs)

        def loss(trunk: MLP) -> Scalar:
            policy = LinearPolicy(trunk, state.policy.log_scale)
            return self.policy_loss(policy, obs, demo_batch.action, ones)

        value, grads = jax.value_and_grad(loss)(state.policy.trunk)
        trunk, optimiser = apply(
            self.policy_optimiser(), state.policy.trunk, grads, state.policy_optimiser
        )
        policy = LinearPolicy(trunk, state.policy.log_scale)
        state = state._replace(policy=policy, policy_optimiser=optimiser)
        return state, {"pretrain_loss": value}

    def learn(
        self,
        state: AWRState,
        replay: Replay,
        demos: Replay | None,
        key: PRNGKeyArray,
        family: Family,
    ) -> tuple[AWRState, Info]:
        """Values towards the λ-returns; then the policy, by returns from the new values."""
        critic_key, policy_key = jax.random.split(key)
        inside = filled(replay)
        scaling = unscaled(replay.storage.obs.shape[-1]).extended(replay.storage.obs, inside)
        state = state._replace(scaling=scaling)
        returns, _ = self.estimate(state, replay)
        state, critic_info = self.fit_critic(state, replay, returns, critic_key)
        estimate = self.estimate(state, replay)
        advantage = generalised_advantage(estimate.returns, estimate.value)
        weights = imitation_weights(advantage, inside, self.advantage_scale, self.weight_limit)
        state, policy_info = self.fit_policy(state, replay, weights, policy_key)
        info = {
            "value": jnp.average(estimate.value, weights=inside),
            "explained_variance": explained_variance(estimate, inside),
            "mean_weight": jnp.average(weights, weights=inside),
            "limited": jnp.average(weights >= self.weight_limit, weights=inside),
        }
        return state, {**critic_info, **policy_info, **info}

    def fit_policy(
        self, state: AWRState, replay: Replay, weights: Rows, key: PRNGKeyArray
    ) -> tuple[AWRState, Info]:
        """Steps on the weighted imitation of the replay."""
        obs, old = state.scaling.scaled(replay.storage.obs), state.policy
        action = replay.storage.action

        def loss(trunk: MLP, rows: Int[Array, " batch"]) -> Scalar:
            policy = LinearPolicy(trunk, old.log_scale)
            return self.policy_loss(policy, obs[rows], action[rows], weights[rows])

        rows = sample_rows(replay, key, self.policy_updates, self.minibatch_size)
        trunk, optimiser, value, gradient = descend_minibatches(
            self.policy_optimiser(), loss, old.trunk, state.policy_optimiser, rows
        )
        policy = LinearPolicy(trunk, old.log_scale)
        moved = normal_kl(*policy.loc_scale(obs), *old.loc_scale(obs))
        info = {
            "policy_loss": value,
            "policy_gradient": gradient,
            "step_kl": jnp.average(moved, weights=filled(replay)),
        }
        return state._replace(policy=policy, policy_optimiser=optimiser), info

    def policy_loss(
        self,
        policy: LinearPolicy,
        obs: Float[Array, "batch o"],
        action: Float[Array, "batch d"],
        weights: Float[Array, " batch"],
    ) -> Scalar:
        """-E[w log π(a|s)] + c · box(μ(s)), with w a constant."""
        outside = box_violation(policy.mode(obs))
        return -jnp.mean(weights * policy.log_prob(obs, action)) + self.box_weight * outside


def glorot(network: MLP, key: PRNGKeyArray, last: float) -> MLP:
    """The network with weights uniform within √(6 / (inputs + outputs)), and no biases.

    The last layer's are within `last`: at first the values must not drown the rewards. Plain
    gradient descent, unlike Adam, is as fast as its weights are large: the authors' step sizes go
    with this beginning.
    """
    bounds = [math.sqrt(6.0 / sum(weight.shape)) for weight in network.weights[:-1]] + [last]
    keys = jax.random.split(key, len(bounds))
    weights = tuple(
        jax.random.uniform(k, weight.shape, minval=-bound, maxval=bound)
        for k, weight, bound in zip(keys, network.weights, bounds, strict=True)
    )
    biases = tuple(jnp.zeros_like(bias) for bias in network.biases)
    return eqx.tree_at(lambda mlp: (mlp.weights, mlp.biases), network, (weights, biases))


def imitation_weights(advantage: Rows, inside: Rows, scale: float, limit: float) -> Rows:
    """W = min(exp(Ã / T), limit), with Ã the advantage standardised over the filled rows."""
    advantage = standardised(advantage, inside, ADVANTAGE_EPSILON)
    return jnp.minimum(jnp.exp(advantage / scale), limit)


def box_violation(mean: Float[Array, "batch d"]) -> Scalar:
    """½ E[Σ_d max(|μ_d| - 1, 0)²]."""
    return 0.5 * jnp.mean(jnp.sum(jnp.maximum(jnp.abs(mean) - 1.0, 0.0) ** 2, axis=-1))
