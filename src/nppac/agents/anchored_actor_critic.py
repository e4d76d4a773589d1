"""An actor-critic whose policy is a correction to its reference, in units of the reference's scale.

At step 0 the policy is the reference. Nothing is pretrained, and nothing that the demonstrations
taught has to be learned again. The critics learn first, while the policy does not change.
"""

from collections.abc import Sequence

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import PRNGKeyArray

from nppac.agents.common.kl_estimates import KLEstimate
from nppac.agents.common.kl_state import KLActorCriticState
from nppac.agents.common.sampling import state_key
from nppac.agents.kl_actor_critic import KLActorCritic
from nppac.nn.policies import AnchoredPolicy, HeadName, Policy, make_policy
from nppac.nn.units import at_least
from nppac.types import Actions, Family, Obs, ReferenceStats, Values
from nppac.utils.errors import UserError
from nppac.utils.settings import NonNegative, Positive, Several, settings


@settings
class Anchored(KLActorCritic):
    """Settings of the anchored actor-critic.

    π(a|s) = N(μ0(s) + σ0(s) f(s), (c σ0(s))²),    penalty α ½‖f(s)‖²
    """

    head: HeadName = "anchored"
    """Policy head: the correction to the reference."""
    kl: KLEstimate = "mean"
    """The penalty; by default the part of the KL that depends on the means."""
    temperature: Positive = 0.5
    """Weight α of the penalty; the initial value if it is tuned."""
    layer_norm: bool = True
    """Apply layer normalisation in the critics."""
    noise_ratio: Positive = 0.5
    """c: the policy's scale as a fraction of the reference's."""
    max_correction: Positive = 3.0
    """Largest correction |f|, in units of the reference's scale."""
    min_unit: NonNegative = 0.0
    """Smallest unit of corrections, noise and penalty, in units of the action; a demonstrator
    without noise would leave none."""
    min_unit_ratio: NonNegative = 0.0
    """The same as a fraction of the standard deviation of the demonstrated actions, for each."""
    candidates: Several = 1
    """Number of actions from which the critics choose: the policy's own, and samples around it."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.min_unit_ratio and self.weight_decay:
            raise UserError(
                "'weight_decay' would shrink the smallest units. Give 0, or no 'min_unit_ratio'."
            )

    def make_policy(self, key: PRNGKeyArray, obs_dim: int, action_dim: int) -> Policy:
        """A policy whose correction is nearly zero everywhere."""
        sizes = obs_dim, action_dim, self.policy_hidden
        settings = self.noise_ratio, self.max_correction, self.standardise_obs
        return make_policy(key, self.head, *sizes, *settings, self.min_unit_ratio > 0.0)

    def with_demo_units(
        self, state: KLActorCriticState, obs: np.ndarray, actions: np.ndarray
    ) -> KLActorCriticState:
        """A fresh state whose networks measure in the units of these, where asked to."""
        state = super().with_demo_units(state, obs, actions)
        if not self.min_unit_ratio:
            return state
        smallest = (jnp.asarray(self.smallest_units(actions), jnp.float32),)
        return self.with_policy(
            state, eqx.tree_at(lambda policy: policy.smallest, state.policy, smallest)
        )

    def smallest_units(self, actions: np.ndarray) -> np.ndarray:
        """`min_unit_ratio` of the standard deviation of each demonstrated action."""
        return self.min_unit_ratio * np.std(actions, axis=0, dtype=np.float64)

    def sample(
        self,
        state: KLActorCriticState,
        obs: Obs,
        reference: ReferenceStats | None,
        key: PRNGKeyArray,
    ) -> Actions:
        """An exploring action: the best of `candidates` samples."""
        reference = self.with_unit(reference)
        keys = jax.random.split(key, self.candidates)
        draws = [super(Anchored, self).sample(state, obs, reference, k) for k in keys]
        return self.best(state, obs, reference, draws)

    def mode(
        self, state: KLActorCriticState, obs: Obs, reference: ReferenceStats | None
    ) -> Actions:
        """The mean, or the best of the mean and samples around it."""
        state = self.averaged(state)
        reference = self.with_unit(reference)
        keys = jax.random.split(jax.random.key(0), self.candidates)[1:]

        def draw(key: PRNGKeyArray) -> Actions:
            sample = jax.vmap(
                lambda o, r: state.policy.condition_on(r).sample(o, state_key(key, o))[0]
            )
            return sample(obs, reference)

        mean = self.searching(state.policy.condition_on(reference).mode(obs), obs, reference)
        return self.best(state, obs, reference, [mean, *(draw(key) for key in keys)])

    def act_with_log_ratio(
        self,
        policy: Policy,
        obs: Obs,
        stats: ReferenceStats,
        key: PRNGKeyArray,
        family: Family,
    ) -> tuple[Actions, Values]:
        """An action and the penalty, in units no smaller than the smallest."""
        stats = self.with_unit(stats)
        if isinstance(policy, AnchoredPolicy):
            stats = at_least(stats, policy.smallest)
        return super().act_with_log_ratio(policy, obs, stats, key, family)

    def with_unit(self, stats: ReferenceStats | None) -> ReferenceStats:
        """The reference with a scale of at least `min_unit`."""
        if stats is None:
            raise ValueError("an anchored policy needs the reference's statistics")
        if not self.min_unit:
            return stats
        return stats._replace(scale=jnp.maximum(stats.scale, self.min_unit))

    def best(
        self,
        state: KLActorCriticState,
        obs: Obs,
        reference: ReferenceStats,
        actions: Sequence[Actions],
    ) -> Actions:
        """At each state the action with the largest minimum over the critics."""
        if len(actions) == 1:
            return actions[0]
        judged = [self.judge(state.critic, obs, action, reference) for action in actions]
        values = jnp.stack([jnp.min(q, axis=0) for q in judged])
        chosen = jnp.argmax(values, axis=0)
        return jnp.take_along_axis(jnp.stack(actions), chosen[None, ..., None], axis=0)[0]
