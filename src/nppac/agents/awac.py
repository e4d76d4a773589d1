"""AWAC (Nair et al., 2020): the policy imitates the replay, weighted by exponentiated advantage."""

from dataclasses import replace
from typing import Literal

import jax
import jax.numpy as jnp
from jaxtyping import PRNGKeyArray

from nppac.agents.base import Info
from nppac.agents.common.actor_critic import ActorCritic, Networks
from nppac.agents.common.losses import advantage_weights, td_target, weighted_imitation_loss
from nppac.agents.common.paper_settings import (
    cloned_first,
    is_dexterous,
    reduced,
    scheduled,
    without_reference,
)
from nppac.agents.common.returns import standardised
from nppac.agents.registry import Method, Preset, Recipe, register_method
from nppac.nn.policies import HeadName, Policy
from nppac.types import Batch, Family, Scalar, Values
from nppac.utils.settings import Finite, NonNegative, Positive, settings

ADVANTAGE_EPSILON = 1e-5
"""Added to the standard deviation of advantages, which equal ones have none of."""


@settings
class AWAC(ActorCritic):
    """Settings of AWAC.

    J_π = -Σ_i w_i log π(a_i|s_i),    w = softmax(min(A, c) / λ),    A = Q(s, a) - Q(s, ã)
    """

    head: HeadName = "constant_scale"
    """Policy head; the authors' has one scale for all states."""
    weight_decay: NonNegative = 1e-4
    """Weight of the policy's parameters in its gradient."""
    advantage_scale: Positive = 2.0
    """λ: advantages are divided by it before they are exponentiated."""
    advantage_limit: Finite | None = None
    """c: larger advantages are clipped to it."""
    standardise_advantage: bool = False
    """Shift and divide A by its mean and standard deviation over the minibatch, as AWR does."""
    baseline: Literal["sample", "mode"] = "sample"
    """The action ã whose value is subtracted: a sampled one, or the deterministic one."""

    def init(self, key: PRNGKeyArray, obs_dim: int, action_dim: int) -> Networks:
        """Policy and critics."""
        return self.networks(key, obs_dim, action_dim)

    def update(
        self, state: Networks, batch: Batch, key: PRNGKeyArray, family: Family
    ) -> tuple[Networks, Info]:
        """Policy evaluation without entropy, then weighted imitation."""
        critic_key, policy_key = jax.random.split(key)
        next_action, _ = state.policy.sample(batch.next_obs, critic_key)
        next_q = jnp.min(state.target_critic(batch.next_obs, next_action), axis=0)
        target = td_target(batch.reward, batch.discount_mask, next_q, self.discount)
        state, critic_info = self.step_critic(state, batch, target)
        advantage = self.advantage(state, batch, policy_key)
        weights = self.weights(advantage)

        def loss(policy: Policy) -> tuple[Scalar, None]:
            log_prob = policy.log_prob(batch.obs, batch.action)
            return weighted_imitation_loss(log_prob, weights), None

        state, policy_info, _ = self.step_policy(state, loss)
        info = {"advantage": jnp.mean(advantage), "largest_weight": jnp.max(weights)}
        return state, {**critic_info, **policy_info, **info}

    def advantage(self, state: Networks, batch: Batch, key: PRNGKeyArray) -> Values:
        """A = Q(s, a) - V(s), with V the value of one action of the policy."""
        action = state.policy.mode(batch.obs)
        if self.baseline == "sample":
            action, _ = state.policy.sample(batch.obs, key)
        value = jnp.min(state.critic(batch.obs, action), axis=0)
        return jnp.min(state.critic(batch.obs, batch.action), axis=0) - value

    def weights(self, advantage: Values) -> Values:
        """The weights of a minibatch, from its advantages or from these in their own units."""
        if self.standardise_advantage:
            ones = jnp.ones_like(advantage)
            advantage = standardised(advantage, ones, ADVANTAGE_EPSILON)
        return advantage_weights(advantage, self.advantage_scale, self.advantage_limit)


def awac_recipe(task: str, preset: Preset) -> Recipe:
    """The authors' settings for each class of tasks, with offline updates on the demonstrations."""
    dexterous = is_dexterous(task)
    agent = AWAC(
        policy_hidden=(256, 256) if dexterous else (256, 256, 256, 256),
        advantage_scale=0.5 if dexterous else 2.0,
        advantage_limit=0.5 if dexterous else None,
        baseline="mode" if dexterous else "sample",
    )
    recipe = scheduled(
        without_reference(task, agent),
        demos_in_replay=True,
        offline_updates=25_000 if dexterous else 50_000,
        batch_size=1024,
    )
    if preset == "paper":
        return recipe
    if dexterous:
        return reduced(recipe)
    # In units of the return λ = 2 gives one transition of 256 half of the weight. In those of the
    # advantages' deviation λ = 1 still loses half of the episodes of the clone, and λ = 3 does not.
    agent = replace(agent, standardise_advantage=True, advantage_scale=3.0)
    recipe = cloned_first(reduced(replace(recipe, agent=agent)))
    return scheduled(recipe, offline_updates=10_000)  # the critics are all that is left to teach


register_method(
    Method(
        name="awac",
        agent=AWAC,
        regulariser="implicit KL",
        needs="rewards",
        reference="uniform",
        summary="Advantage-weighted actor-critic.",
        recipe=awac_recipe,
    )
)
