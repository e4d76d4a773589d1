"""SAC+BC (Nair et al., 2018): SAC whose policy also imitates a minibatch of demonstrations."""

from dataclasses import dataclass
from typing import ClassVar

import jax
import jax.numpy as jnp
from jaxtyping import PRNGKeyArray

from nppac.agents.base import BatchSpec, Info, split_rows
from nppac.agents.common.actor_critic import Scalar, require_not_negative, require_positive
from nppac.agents.common.losses import imitation_loss
from nppac.agents.kl_actor_critic import KLActorCritic, KLActorCriticState
from nppac.nn.critics import CriticEnsemble
from nppac.nn.policies import Policy
from nppac.types import Batch, Family
from nppac.utils.errors import UserError


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
        if self.offline_ratio:
            raise UserError(
                f"'offline_ratio' is {self.offline_ratio}, but SAC+BC draws 'demo_batch_size' "
                "demonstrated pairs beside each minibatch. Set that instead."
            )

    def batch_spec(self, batch_size: int) -> BatchSpec:
        """SAC's minibatches and, behind each, the demonstrated pairs."""
        return BatchSpec(batch_size, self.demo_batch_size, self.utd_ratio)

    def update(
        self, state: KLActorCriticState, batch: Batch, key: PRNGKeyArray, family: Family
    ) -> tuple[KLActorCriticState, Info]:
        """SAC's update with L_SAC + w E_demo[-log π(a|s)] as the policy's loss."""
        replayed, demo_batch = split_rows(batch, batch.reward.shape[-1] - self.demo_batch_size)
        # The policy's step is on the last minibatch.
        demo_batch = jax.tree.map(lambda column: column[-1], demo_batch)

        def imitation(policy: Policy, critic: CriticEnsemble) -> Scalar:
            mask = self.preferred(policy, critic, demo_batch)
            return self.imitation_weight * imitation_loss(
                policy.log_prob(demo_batch.obs, demo_batch.action), mask
            )

        state, info = self.update_with_loss(state, replayed, key, family, imitation)
        mask = self.preferred(state.policy, state.critic, demo_batch)
        log_prob = state.policy.log_prob(demo_batch.obs, demo_batch.action)
        imitated = {"demo_log_prob": jnp.mean(log_prob), "imitated": jnp.mean(mask)}
        return state, {**info, **imitated}

    def preferred(self, policy: Policy, critic: CriticEnsemble, demo_batch: Batch):
        """1[Q(s, a) > Q(s, π(s))] with the filter, 1 without."""
        if not self.q_filter:
            return jnp.ones(len(demo_batch.obs))
        own = jnp.min(critic(demo_batch.obs, policy.mode(demo_batch.obs)), axis=0)
        return (jnp.min(critic(demo_batch.obs, demo_batch.action), axis=0) > own).astype(
            jnp.float32
        )
