"""SAC+BC (Nair et al., 2018): SAC whose policy also imitates a minibatch of demonstrations."""

from dataclasses import dataclass
from typing import ClassVar

import jax
import jax.numpy as jnp
from jaxtyping import PRNGKeyArray

from nppac.agents.actor_critic import Scalar, require_not_negative, require_positive
from nppac.agents.base import Draw, Info, split_rows
from nppac.agents.kl_actor_critic import KLActorCritic, KLActorCriticState
from nppac.agents.losses import imitation_loss
from nppac.errors import UserError
from nppac.networks import CriticEnsemble, Policy
from nppac.types import Batch, Family


@dataclass(frozen=True)
class SACBC(KLActorCritic):
    """Settings of SAC+BC: SAC's, and the weight of imitation."""

    asks_reference: ClassVar[bool] = False

    demo_batch_size: int = 128
    """Demonstrated pairs in each minibatch."""
    imitation_weight: float = 1.0
    """Weight of the imitation loss beside SAC's own policy loss."""
    q_filter: bool = False
    """Imitate only where the critics prefer the demonstrated action to the policy's own."""

    def __post_init__(self) -> None:
        super().__post_init__()
        require_positive(self, "demo_batch_size")
        require_not_negative(self, "imitation_weight")
        if self.demo_share:
            raise UserError(
                f"'demo_share' is {self.demo_share}, but SAC+BC draws 'demo_batch_size' "
                "demonstrated pairs beside each minibatch. Set that instead."
            )

    def draw(self, batch_size: int) -> Draw:
        """SAC's minibatches and, behind each, the demonstrated pairs."""
        return Draw(batch_size, self.demo_batch_size, self.critic_updates)

    def update(
        self, state: KLActorCriticState, batch: Batch, key: PRNGKeyArray, family: Family
    ) -> tuple[KLActorCriticState, Info]:
        """SAC's update with L_SAC + w E_demo[-log π(a|s)] as the policy's loss."""
        replayed, shown = split_rows(batch, batch.reward.shape[-1] - self.demo_batch_size)
        if self.critic_updates > 1:  # the policy's step is on the last minibatch
            shown = jax.tree.map(lambda column: column[-1], shown)

        def imitation(policy: Policy, critic: CriticEnsemble) -> Scalar:
            mask = self.preferred(policy, critic, shown)
            return self.imitation_weight * imitation_loss(
                policy.log_prob(shown.obs, shown.action), mask
            )

        state, info = self.improve(state, replayed, key, family, imitation)
        mask = self.preferred(state.policy, state.critic, shown)
        log_prob = state.policy.log_prob(shown.obs, shown.action)
        imitated = {"demo_log_prob": jnp.mean(log_prob), "imitated": jnp.mean(mask)}
        return state, {**info, **imitated}

    def preferred(self, policy: Policy, critic: CriticEnsemble, shown: Batch):
        """1[Q(s, a) > Q(s, π(s))] with the filter, 1 without."""
        if not self.q_filter:
            return jnp.ones(len(shown.obs))
        own = jnp.min(critic(shown.obs, policy.mode(shown.obs)), axis=0)
        return (jnp.min(critic(shown.obs, shown.action), axis=0) > own).astype(jnp.float32)
