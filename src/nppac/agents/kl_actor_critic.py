"""The KL-regularised actor-critic of the paper.

N-PPAC, BRAC, SAC, SACfD and RLPD are this one agent with different references, different numbers of
critics, and with or without demonstrations in their minibatches.
"""

import math
from collections.abc import Callable
from typing import ClassVar, Literal

import jax
import jax.numpy as jnp
from jaxtyping import PRNGKeyArray

from nppac.agents.base import BatchSpec, Info
from nppac.agents.common.kl_estimates import KLEstimate, draw_with_kl
from nppac.agents.common.kl_state import KLActorCriticState, after_warmup
from nppac.agents.common.losses import policy_loss, soft_target
from nppac.agents.common.optimise import init_optimiser
from nppac.agents.common.residual_critics import ResidualActorCritic
from nppac.agents.common.value_units import (
    CalibratedActorCritic,
    in_critic_units,
    in_reward_units,
)
from nppac.nn.critics import CriticEnsemble
from nppac.nn.policies import Policy
from nppac.types import Actions, Batch, DemoBatch, Family, Obs, ReferenceStats, Scalar, Values
from nppac.utils.errors import UserError
from nppac.utils.settings import NaturalNumber, ProperFraction, Several, Size, settings

ExtraLoss = Callable[[Policy, CriticEnsemble], Scalar]
"""A term that a method adds to the policy's loss."""


@settings
class KLActorCritic(ResidualActorCritic, CalibratedActorCritic):
    """Settings of the agent; its methods are pure functions of a state.

    y = r + γ m (min_i Q̄_i(s', a') - α [log π(a'|s') - log π0(a'|s')])
    J_π(φ) = E[α (log π(a|s) - log π0(a|s)) - min_i Q_θi(s, a)]
    """

    uses_reference: ClassVar[bool] = True

    kl: KLEstimate = "sample"
    """KL from samples, in closed form, or of the means alone; the last two need Gaussians."""
    kl_samples: Several = 1
    """Number of samples that the sampled KL averages over."""
    backup_kl: bool = True
    """Whether the critics' target includes the KL penalty."""
    n_step: Size = 1
    """Steps of reward in the critics' target before it bootstraps; a penalty in the target is that
    of the last one."""
    utd_ratio: Several = 1
    """Critic steps, each on its own minibatch, for each policy step."""
    num_min_qs: Several | None = None
    """Number of randomly chosen critics whose minimum is the target; by default all."""
    policy_value: Literal["min", "mean"] = "min"
    """What the policy maximises: the minimum of the critics, or their mean."""
    offline_ratio: ProperFraction = 0.0
    """Fraction of each minibatch that is drawn from the demonstrations, which then need rewards."""
    critic_warmup_updates: NaturalNumber = 0
    """Number of first updates in which only the critics learn."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.num_min_qs is not None and self.num_min_qs > self.num_qs:
            raise UserError(f"'num_min_qs' is {self.num_min_qs}; there are {self.num_qs} critics.")
        if self.n_step > 1 and self.discount == 0:
            raise UserError("'discount' is 0; with 'n_step' above 1 it must be greater than 0.")

    def batch_spec(self, batch_size: int) -> BatchSpec:
        """`utd_ratio` minibatches, each with its fraction of demonstrations."""
        demo_batch = round(self.offline_ratio * batch_size)
        spec = BatchSpec(batch_size - demo_batch, demo_batch, self.utd_ratio)
        if self.n_step == 1:
            return spec
        return spec._replace(n_step=self.n_step, discount=self.discount)

    def init(self, key: PRNGKeyArray, obs_dim: int, action_dim: int) -> KLActorCriticState:
        """Fresh networks and the initial temperature."""
        networks = self.networks(key, obs_dim, action_dim)
        log_temperature = jnp.asarray(math.log(self.temperature), jnp.float32)
        return KLActorCriticState(
            **networks._asdict(),
            log_temperature=log_temperature,
            temperature_optimiser=init_optimiser(self.temperature_adam(), log_temperature),
            value_shift=jnp.float32(0.0),
            value_scale=jnp.float32(1.0),
        )

    def update(
        self, state: KLActorCriticState, batch: Batch, key: PRNGKeyArray, family: Family
    ) -> tuple[KLActorCriticState, Info]:
        """Policy evaluation, policy improvement, temperature."""
        return self.update_with_loss(state, batch, key, family)

    def update_with_loss(
        self,
        state: KLActorCriticState,
        batch: Batch,
        key: PRNGKeyArray,
        family: Family,
        extra_loss: ExtraLoss = lambda policy, critic: jnp.float32(0.0),
    ) -> tuple[KLActorCriticState, Info]:
        """An update whose policy loss includes `extra_loss`."""
        critic_key, policy_key = jax.random.split(key)
        if self.utd_ratio > 1:
            keys = jax.random.split(critic_key, self.utd_ratio)
            state, infos = jax.lax.scan(
                lambda state, inputs: self.update_critic(state, *inputs, family),
                state,
                (batch, keys),
            )
            critic_info = jax.tree.map(jnp.mean, infos)
            batch = jax.tree.map(lambda column: column[-1], batch)
        else:
            batch = jax.tree.map(lambda column: column[0], batch)
            state, critic_info = self.update_critic(state, batch, critic_key, family)
        moved, policy_info, log_ratio = self.update_policy(
            state, batch, policy_key, family, extra_loss
        )
        moved = self.update_temperature(moved, log_ratio, batch.action.shape[-1], family)
        state = after_warmup(state, moved, self.critic_warmup_updates * self.utd_ratio)
        info = {
            **critic_info,
            **policy_info,
            "temperature": jnp.exp(state.log_temperature),
            "reference_scale": jnp.mean(batch.reference.scale),
        }
        return state, info

    def update_critic(
        self, state: KLActorCriticState, batch: Batch, key: PRNGKeyArray, family: Family
    ) -> tuple[KLActorCriticState, Info]:
        """One step on the Bellman residual over `n_step` steps."""
        if batch.n_step is not None:
            reward, obs, discount, reference = batch.n_step
            mask = discount / self.discount  # the target multiplies by γ
            batch = batch._replace(
                reward=reward, next_obs=obs, next_reference=reference, discount_mask=mask
            )
        next_action, next_log_ratio = self.act_with_log_ratio(
            state.policy, batch.next_obs, batch.next_reference, key, family
        )
        judges = state.target_critic.random_members(jax.random.fold_in(key, 0), self.num_min_qs)
        next_q = self.judge(judges, batch.next_obs, next_action, batch.next_reference)
        next_q = in_reward_units(state, jnp.min(next_q, axis=0))
        weight = self.weight(state, next_q)
        outcome = batch.reward, batch.discount_mask, next_q, next_log_ratio
        target = soft_target(*outcome, weight if self.backup_kl else 0.0, self.discount)
        state, info = self.step_critic(state, batch, in_critic_units(state, target))
        info["q"] = in_reward_units(state, info["q"])
        return state, {**info, "penalty_per_step": jnp.mean(weight * next_log_ratio)}

    def values(
        self, state: KLActorCriticState, obs: Obs, action: Actions, reference: ReferenceStats
    ) -> Values:
        """min_i Q_θi(s, a) in the rewards' units."""
        q = self.judge(state.critic, obs, action, reference)
        return in_reward_units(state, jnp.min(q, axis=0))

    def update_policy(
        self,
        state: KLActorCriticState,
        batch: Batch,
        key: PRNGKeyArray,
        family: Family,
        extra_loss: ExtraLoss,
    ) -> tuple[KLActorCriticState, Info, Values]:
        """One step on the KL-augmented policy objective."""
        combine = jnp.min if self.policy_value == "min" else jnp.mean

        def loss(policy: Policy) -> tuple[Scalar, Values]:
            action, log_ratio = self.act_with_log_ratio(
                policy, batch.obs, batch.reference, key, family
            )
            q = self.judge(state.critic, batch.obs, action, batch.reference)
            q = in_reward_units(state, combine(q, axis=0))
            value = policy_loss(q, log_ratio, self.weight(state, q))
            return value + extra_loss(policy, state.critic), log_ratio

        state, info, log_ratio = self.step_policy(state, loss)
        return state, {**info, "kl": jnp.mean(log_ratio)}, log_ratio

    def pretrain_step(
        self, state: KLActorCriticState, demo_batch: DemoBatch, key: PRNGKeyArray, family: Family
    ) -> tuple[KLActorCriticState, Info]:
        """One step on J_GP(φ) = E_{s ~ D0}[KL(π(·|s) ‖ π0(·|s))]; training keeps Adam's state."""

        def loss(policy: Policy) -> tuple[Scalar, None]:
            estimate = self.act_with_log_ratio(
                policy, demo_batch.obs, demo_batch.reference, key, family
            )
            return jnp.mean(estimate[1]), None

        state, info, _ = self.step_policy(state, loss)
        return state, {"pretrain_loss": info["policy_loss"]}

    def act_with_log_ratio(
        self,
        policy: Policy,
        obs: Obs,
        stats: ReferenceStats,
        key: PRNGKeyArray,
        family: Family,
    ) -> tuple[Actions, Values]:
        """A reparameterised action and the estimate of KL(π ‖ π0) at each state."""
        return draw_with_kl(policy, obs, stats, key, family, self.kl, self.kl_samples)
