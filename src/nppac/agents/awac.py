"""AWAC (Nair et al., 2020): the policy imitates the replay, weighted by exponentiated advantage."""

from dataclasses import dataclass
from typing import Literal

import jax
import jax.numpy as jnp
from jaxtyping import PRNGKeyArray

from nppac.agents.base import Info
from nppac.agents.common.actor_critic import ActorCritic, Networks, Scalar, Values, require_positive
from nppac.agents.common.losses import advantage_weights, td_target, weighted_imitation_loss
from nppac.nn.policies import HeadName, Policy
from nppac.types import Batch, Family


@dataclass(frozen=True)
class AWAC(ActorCritic):
    """Settings of AWAC."""

    head: HeadName = "constant_scale"
    """Policy head; the authors' has one scale for all states."""
    weight_decay: float = 1e-4
    """Weight of the policy's own parameters in its gradient."""
    advantage_scale: float = 2.0
    """λ: advantages are divided by it before they are exponentiated."""
    advantage_limit: float | None = None
    """c: advantages above it count as c."""
    baseline: Literal["sample", "mode"] = "sample"
    """The action whose value is subtracted: a sampled one, or the deterministic one."""

    def __post_init__(self) -> None:
        super().__post_init__()
        require_positive(self, "advantage_scale")

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
        info = {
            "advantage": jnp.mean(advantage),
            "largest_weight": jnp.max(weights),
        }
        return state, {**critic_info, **policy_info, **info}

    def advantage(self, state: Networks, batch: Batch, key: PRNGKeyArray) -> Values:
        """A = Q(s, a) - V(s), with V the value of one action of the policy."""
        action = state.policy.mode(batch.obs)
        if self.baseline == "sample":
            action, _ = state.policy.sample(batch.obs, key)
        value = jnp.min(state.critic(batch.obs, action), axis=0)
        return jnp.min(state.critic(batch.obs, batch.action), axis=0) - value
