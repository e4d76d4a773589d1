"""N-PPAC whose policy is a correction to its reference, in units of the reference's own doubt.

    π(a|s) = N(μ0(s) + σ0(s) f(s), (c σ0(s))²),    penalty α ½‖f(s)‖²

At step 0 the policy is the reference: nothing is pretrained, and nothing that the demonstrations
taught has to be learned again. The critics learn first, while the policy waits.
"""

from dataclasses import dataclass
from typing import Literal

import jax
import jax.numpy as jnp
import optax
from jaxtyping import PRNGKeyArray

from nppac.agents.actor_critic import Scalar, Values, require_not_negative, require_positive
from nppac.agents.base import Info
from nppac.agents.kl_actor_critic import ExtraLoss, KLActorCritic, KLActorCriticState
from nppac.networks import HeadName, Policy, make_policy
from nppac.types import Batch, Family


@dataclass(frozen=True)
class Anchored(KLActorCritic):
    """Settings of the anchored actor-critic."""

    head: HeadName = "anchored"
    """Policy head: the correction to the reference."""
    kl: Literal["sample", "closed", "mean"] = "mean"
    """What is penalised; only the means differ by more than a constant."""
    temperature: float = 0.5
    """Weight α of the penalty; the starting value where it is tuned."""
    relative: bool = False
    """Measure α in units of the critics' mean |Q|, so that it means the same for any reward."""
    layer_norm: bool = True
    """Normalise the critics' hidden layers."""
    spread: float = 0.5
    """c: the policy's scale as a share of the reference's."""
    reach: float = 3.0
    """Largest correction, in scales of the reference."""
    policy_waits: int = 0
    """Updates in which only the critics learn."""

    def __post_init__(self) -> None:
        super().__post_init__()
        require_positive(self, "spread", "reach")
        require_not_negative(self, "policy_waits")

    def make_policy(self, key: PRNGKeyArray, obs_dim: int, action_dim: int) -> Policy:
        """A correction that is nearly zero everywhere."""
        hidden = self.policy_hidden
        return make_policy(key, self.head, obs_dim, action_dim, hidden, self.spread, self.reach)

    def weight(self, state: KLActorCriticState, q: Values) -> Scalar:
        """α, times E|Q| where it is relative."""
        temperature = super().weight(state, q)
        return (
            temperature * jnp.mean(jnp.abs(jax.lax.stop_gradient(q)))
            if self.relative
            else temperature
        )

    def update_policy(
        self,
        state: KLActorCriticState,
        batch: Batch,
        key: PRNGKeyArray,
        family: Family,
        extra_loss: ExtraLoss,
    ) -> tuple[KLActorCriticState, Info, Values]:
        """One step of the policy, unless it still waits for the critics."""
        moved, info, log_ratio = super().update_policy(state, batch, key, family, extra_loss)
        if not self.policy_waits:
            return moved, info, log_ratio
        learned = optax.tree_utils.tree_get(state.critic_optimiser, "count")  # Adam's own
        waits = learned <= self.policy_waits * self.critic_updates
        state = jax.tree.map(lambda old, new: jnp.where(waits, old, new), state, moved)
        return state, info, log_ratio
