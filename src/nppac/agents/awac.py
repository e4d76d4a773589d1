"""AWAC (Nair et al., 2020): the policy imitates the replay, weighted by exponentiated advantage."""

from typing import Literal

import jax
import jax.numpy as jnp
from jaxtyping import PRNGKeyArray

from nppac.agents.base import Info
from nppac.agents.common.actor_critic import ActorCritic, Networks
from nppac.agents.common.losses import advantage_weights, td_target, weighted_imitation_loss
from nppac.agents.common.paper_settings import (
    is_dexterous,
    reduced,
    scheduled,
    without_reference,
)
from nppac.agents.registry import Method, Preset, Recipe, register_method
from nppac.nn.policies import HeadName, Policy
from nppac.types import Batch, Family, Scalar, Values
from nppac.utils.settings import Finite, NonNegative, Positive, settings


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
        weights = advantage_weights(advantage, self.advantage_scale, self.advantage_limit)

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
    return recipe if preset == "paper" else reduced(recipe)


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
