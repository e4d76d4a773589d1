"""AWR (Peng et al., 2019): the policy imitates stored episodes, weighted by their advantage."""

import math
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Int, PRNGKeyArray

from nppac.agents.base import Info
from nppac.agents.common.episodic import (
    EpisodicAgent,
    Scaling,
    filled,
    identity_scaling,
    step_trunk,
    value_report,
)
from nppac.agents.common.optimise import (
    Optimiser,
    descend_minibatches,
    init_optimiser,
)
from nppac.agents.common.paper_settings import reduced, scheduled, without_reference
from nppac.agents.common.returns import RowValues, generalised_advantage, standardised
from nppac.agents.registry import Method, Preset, Recipe, register_method
from nppac.agents.replay import Replay, sample_rows
from nppac.nn.critics import CRITIC_LAST_BOUND
from nppac.nn.distributions import normal_kl
from nppac.nn.mlp import MLP
from nppac.nn.policies import LinearPolicy
from nppac.types import Actions, DemoBatch, Family, Obs, ReferenceStats, Scalar, Values
from nppac.utils.settings import NonNegative, Positive, Size, settings

AWR_ADVANTAGE_EPSILON = 1e-5
AWR_LAST_BOUND = 0.01


class AWRState(NamedTuple):
    """Everything that learns; the policy's scale is fixed."""

    policy: LinearPolicy
    critic: MLP
    policy_optimiser: optax.OptState
    critic_optimiser: optax.OptState
    scaling: Scaling


@settings
class AWR(EpisodicAgent):
    """Settings of AWR; an epoch ends with steps of the value network, then of the policy.

    J_π = -E[w log π(a|s)] + c · ½ E[Σ_d max(|μ_d(s)| - 1, 0)²],    w = min(exp(Ã / T), limit)
    """

    policy_updates: Size = 1_000
    """Gradient steps of the policy at the end of each epoch."""
    policy_learning_rate: Positive = 5e-5
    """Step size of the policy's stochastic gradient descent."""
    critic_learning_rate: Positive = 1e-2
    """Step size of the value network's stochastic gradient descent."""
    momentum: NonNegative = 0.9
    """Momentum of policy and value network."""
    scale: Positive = 0.4
    """σ of the policy in every state and dimension; it is not learned."""
    advantage_scale: Positive = 1.0
    """T: standardised advantages are divided by it before they are exponentiated."""
    weight_limit: Positive = 20.0
    """Largest weight of a transition."""
    box_weight: NonNegative = 10.0
    """c: weight of the loss that keeps the policy's mean inside the action box."""

    @property
    def updates_per_epoch(self) -> int:
        """Gradient steps that one call of `learn` makes."""
        return self.critic_updates + self.policy_updates

    def policy_optimiser(self) -> Optimiser:
        """The optimiser of the policy's mean."""
        return optax.sgd(self.policy_learning_rate, momentum=self.momentum)

    def critic_optimiser(self) -> Optimiser:
        """The optimiser of the value network."""
        return optax.sgd(self.critic_learning_rate, momentum=self.momentum)

    def init(self, key: PRNGKeyArray, obs_dim: int, action_dim: int) -> AWRState:
        """Fresh networks."""
        policy_key, critic_key = jax.random.split(key)
        trunk = MLP(policy_key, obs_dim, self.policy_hidden, action_dim, AWR_LAST_BOUND)
        trunk = glorot(trunk, policy_key, AWR_LAST_BOUND)
        critic = glorot(self.make_critic(critic_key, obs_dim), critic_key, CRITIC_LAST_BOUND)
        return AWRState(
            policy=LinearPolicy(trunk, jnp.full(action_dim, math.log(self.scale))),
            critic=critic,
            policy_optimiser=init_optimiser(self.policy_optimiser(), trunk),
            critic_optimiser=init_optimiser(self.critic_optimiser(), critic),
            scaling=identity_scaling(obs_dim),
        )

    def sample(
        self, state: AWRState, obs: Obs, reference: ReferenceStats | None, key: PRNGKeyArray
    ) -> Actions:
        """Actions sampled from the policy."""
        return state.policy.sample(state.scaling.scaled(obs), key)[0]

    def mode(self, state: AWRState, obs: Obs, reference: ReferenceStats | None) -> Actions:
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

        return step_trunk(state, loss, self.policy_optimiser())

    def learn(
        self,
        state: AWRState,
        replay: Replay,
        demos: Replay | None,
        key: PRNGKeyArray,
        family: Family,
    ) -> tuple[AWRState, Info]:
        """Fit the values to the λ-returns; then the policy, with returns from the new values."""
        critic_key, policy_key = jax.random.split(key)
        inside = filled(replay)
        scaling = identity_scaling(replay.storage.obs.shape[-1]).extended(
            replay.storage.obs, inside
        )
        state = state._replace(scaling=scaling)
        returns, _ = self.estimate(state, replay)
        state, critic_info = self.fit_critic(state, replay, returns, critic_key)
        estimate = self.estimate(state, replay)
        advantage = generalised_advantage(*estimate)
        weights = imitation_weights(advantage, inside, self.advantage_scale, self.weight_limit)
        state, policy_info = self.fit_policy(state, replay, weights, policy_key)
        info = value_report(estimate, inside) | {
            "mean_weight": jnp.average(weights, weights=inside),
            "limited": jnp.average(weights >= self.weight_limit, weights=inside),
        }
        return state, {**critic_info, **policy_info, **info}

    def fit_policy(
        self, state: AWRState, replay: Replay, weights: RowValues, key: PRNGKeyArray
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
        self, policy: LinearPolicy, obs: Obs, action: Actions, weights: Values
    ) -> Scalar:
        """-E[w log π(a|s)] + c · box(μ(s)), with w a constant."""
        outside = box_violation(policy.mode(obs))
        return -jnp.mean(weights * policy.log_prob(obs, action)) + self.box_weight * outside


def glorot(network: MLP, key: PRNGKeyArray, last: float) -> MLP:
    """The network with weights uniform within √(6 / (inputs + outputs)) and zero biases.

    The last layer's weights are within `last`, so that the first values are small beside the
    rewards. The speed of plain gradient descent, unlike Adam's, depends on the size of the weights:
    the authors' step sizes belong to this initialisation.
    """
    bounds = [math.sqrt(6.0 / sum(weight.shape)) for weight in network.weights[:-1]] + [last]
    keys = jax.random.split(key, len(bounds))
    weights = tuple(
        jax.random.uniform(k, weight.shape, minval=-bound, maxval=bound)
        for k, weight, bound in zip(keys, network.weights, bounds, strict=True)
    )
    biases = tuple(jnp.zeros_like(bias) for bias in network.biases)
    return eqx.tree_at(lambda mlp: (mlp.weights, mlp.biases), network, (weights, biases))


def imitation_weights(
    advantage: RowValues, inside: RowValues, scale: float, limit: float
) -> RowValues:
    """w = min(exp(Ã / T), limit), with Ã the advantage standardised over the filled rows."""
    advantage = standardised(advantage, inside, AWR_ADVANTAGE_EPSILON)
    return jnp.minimum(jnp.exp(advantage / scale), limit)


def box_violation(mean: Actions) -> Scalar:
    """½ E[Σ_d max(|μ_d| - 1, 0)²]."""
    return 0.5 * jnp.mean(jnp.sum(jnp.maximum(jnp.abs(mean) - 1.0, 0.0) ** 2, axis=-1))


def awr_recipe(task: str, preset: Preset) -> Recipe:
    """Epochs of 2,500 steps, so that evaluations fall between them; the authors' have 2,048."""
    agent = AWR(
        scale=0.2 if task == "ant" else 0.4,
        policy_learning_rate=2.5e-5 if task == "walker2d" else 5e-5,
    )
    recipe = scheduled(
        without_reference(task, agent),
        demos_in_replay=True,
        epoch_steps=2_500,
        warmup_steps=0,
        replay_capacity=50_000,
    )
    return recipe if preset == "paper" else reduced(recipe)


register_method(
    Method(
        name="awr",
        agent=AWR,
        regulariser="implicit KL",
        needs="episodes",
        reference="uniform",
        summary="Advantage-weighted regression on episodes.",
        recipe=awr_recipe,
    )
)
