"""SAC+BC (Nair et al., 2018): SAC whose policy also imitates a minibatch of demonstrations."""

from collections.abc import Callable
from dataclasses import replace
from typing import ClassVar, cast

import jax
import jax.numpy as jnp
from jaxtyping import PRNGKeyArray

from nppac.agents.base import BatchSpec, Info, split_rows
from nppac.agents.common.actor_critic import ActorCritic
from nppac.agents.common.kl_state import KLActorCriticState
from nppac.agents.common.losses import imitation_loss
from nppac.agents.common.paper_settings import (
    cloned_first,
    is_dexterous,
    paper_recipe,
    reduced,
    scheduled,
    without_reference,
)
from nppac.agents.common.value_units import in_reward_units
from nppac.agents.kl_actor_critic import KLActorCritic
from nppac.agents.registry import Method, Preset, Recipe, register_method
from nppac.nn.critics import CriticEnsemble
from nppac.nn.policies import Policy
from nppac.types import AnyArray, Batch, DemoBatch, Family, Scalar, Values
from nppac.utils.errors import UserError
from nppac.utils.settings import NonNegative, Size, settings


@settings
class SACBC(KLActorCritic):
    """Settings of SAC+BC: SAC's, and the weight w of imitation.

    J_π = J_SAC + w E_demo[-1[Q(s, a) > Q(s, π(s))] log π(a|s)], the indicator with `q_filter` only
    """

    uses_reference: ClassVar[bool] = False

    demo_batch_size: Size = 128
    """Demonstrated pairs in each minibatch."""
    imitation_weight: NonNegative = 1.0
    """Weight w of the imitation loss, added to SAC's policy loss."""
    imitation_in_q_units: bool = False
    """Measure w in units of the mean |Q| of the demonstrated pairs, as TD3+BC does."""
    q_filter: bool = False
    """Imitate only where the critics prefer the demonstrated action to the policy's own."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.offline_ratio:
            raise UserError(
                f"'offline_ratio' is {self.offline_ratio}, but SAC+BC draws 'demo_batch_size' "
                "demonstrated pairs beside each minibatch. Set that instead."
            )

    def batch_spec(self, batch_size: int) -> BatchSpec:
        """SAC's minibatches, each followed by the demonstrated pairs."""
        return BatchSpec(batch_size, self.demo_batch_size, self.utd_ratio)

    def update(
        self, state: KLActorCriticState, batch: Batch, key: PRNGKeyArray, family: Family
    ) -> tuple[KLActorCriticState, Info]:
        """SAC's update with L_SAC + w E_demo[-log π(a|s)] as the policy's loss."""
        replayed, demo_batch = split_rows(batch, batch.reward.shape[-1] - self.demo_batch_size)
        # The policy's step uses the last minibatch.
        demo_batch = jax.tree.map(lambda column: column[-1], demo_batch)

        def imitation(policy: Policy, critic: CriticEnsemble) -> Scalar:
            mask = self.preferred(policy, critic, demo_batch)
            log_prob = policy.log_prob(demo_batch.obs, demo_batch.action)
            weight = self.imitation_weight
            if self.imitation_in_q_units:
                q = jnp.min(critic(demo_batch.obs, demo_batch.action), axis=0)
                weight *= jnp.mean(jnp.abs(in_reward_units(state, q)))
            return weight * imitation_loss(log_prob, mask)

        state, info = self.update_with_loss(state, replayed, key, family, imitation)
        mask = self.preferred(state.policy, state.critic, demo_batch)
        log_prob = state.policy.log_prob(demo_batch.obs, demo_batch.action)
        imitated = {"demo_log_prob": jnp.mean(log_prob), "imitated": jnp.mean(mask)}
        return state, {**info, **imitated}

    def pretrain_step(
        self, state: KLActorCriticState, demo_batch: DemoBatch, key: PRNGKeyArray, family: Family
    ) -> tuple[KLActorCriticState, Info]:
        """Behaviour cloning: there is no reference to pull the policy to."""
        return ActorCritic.pretrain_step(self, state, demo_batch, key, family)

    def preferred(
        self, policy: Policy, critic: Callable[[AnyArray, AnyArray], AnyArray], demo_batch: Batch
    ) -> Values:
        """1[Q(s, a) > Q(s, π(s))] with the filter, 1 without."""
        if not self.q_filter:
            return jnp.ones(len(demo_batch.obs))
        own = jnp.min(critic(demo_batch.obs, policy.mode(demo_batch.obs)), axis=0)
        return (jnp.min(critic(demo_batch.obs, demo_batch.action), axis=0) > own).astype(
            jnp.float32
        )


def sac_bc_recipe(task: str, preset: Preset) -> Recipe:
    """SAC's settings; on the dexterous tasks next to no entropy, as its authors have it.

    An unsquashed policy gains entropy outside the box. With rewards of 0 and 1 the critics would
    then learn little else. On locomotion α is tuned: it falls where the entropy exceeds its target.
    """
    paper, dexterous = cast(KLActorCritic, paper_recipe(task).agent), is_dexterous(task)
    agent = SACBC(
        head=paper.head,
        policy_hidden=paper.policy_hidden,
        temperature=1e-3 if dexterous else 1.0,
        tune_temperature=not dexterous,
    )
    recipe = scheduled(without_reference(task, agent), demos_in_replay=True)
    if preset == "paper":
        return recipe
    if dexterous:
        return reduced(recipe)
    agent = replace(
        agent,
        # Many demonstrated actions lie on the border of the box, where the density of a squashed
        # policy says little of its mean. The authors' own head and widths.
        head="constant_scale",
        policy_hidden=(256, 256, 256, 256),
        normalise_values=True,
        # Beside values of 1,000 a weight of 1 is drowned: the policy was SAC's.
        imitation_in_q_units=True,
    )
    return cloned_first(reduced(replace(recipe, agent=agent)))


register_method(
    Method(
        name="sac-bc",
        agent=SACBC,
        regulariser="other divergence",
        needs="rewards",
        reference="uniform",
        summary="SAC with a behaviour-cloning loss.",
        recipe=sac_bc_recipe,
    )
)
