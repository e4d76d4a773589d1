"""N-PPAC whose policy is a correction to its reference, in units of the reference's own doubt.

    π(a|s) = N(μ0(s) + σ0(s) f(s), (c σ0(s))²),    penalty α ½‖f(s)‖²

At step 0 the policy is the reference: nothing is pretrained, and nothing that the demonstrations
taught has to be learned again. The critics learn first, while the policy waits.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, PRNGKeyArray

from nppac.agents.base import BatchSpec, Info
from nppac.agents.common.actor_critic import (
    Scalar,
    Values,
    require_not_negative,
    require_positive,
    smoothed,
)
from nppac.agents.common.sampling import own_key
from nppac.agents.kl_actor_critic import ExtraLoss, KLActorCritic, KLActorCriticState
from nppac.nn.policies import HeadName, Policy, make_policy
from nppac.types import Batch, Family, ReferenceStats


@dataclass(frozen=True)
class Anchored(KLActorCritic):
    """Settings of the anchored actor-critic."""

    head: HeadName = "anchored"
    """Policy head: the correction to the reference."""
    kl: Literal["sample", "closed", "mean"] = "mean"
    """What is penalised; only the means differ by more than a constant."""
    temperature: float = 0.5
    """Weight α of the penalty; the starting value where it is tuned."""
    temperature_in_q_units: bool = False
    """Measure α in units of the critics' mean |Q|, so that it means the same for any reward."""
    layer_norm: bool = True
    """Normalise the critics' hidden layers."""
    noise_ratio: float = 0.5
    """c: the policy's scale as a share of the reference's."""
    max_correction: float = 3.0
    """Largest correction, in scales of the reference."""
    critic_warmup_updates: int = 0
    """Updates in which only the critics learn."""
    n_step: int = 1
    """Steps of reward in the critics' target before it asks them; only there it is penalised."""
    candidates: int = 1
    """Actions from which the critics choose when acting: the policy's own, and draws around it."""
    policy_ema_updates: int = 0
    """Updates that the evaluated policy averages over; 0 evaluates the newest."""

    def __post_init__(self) -> None:
        super().__post_init__()
        require_positive(self, "noise_ratio", "max_correction", "n_step", "candidates")
        require_not_negative(self, "critic_warmup_updates", "policy_ema_updates")
        if self.n_step > 1:
            require_positive(self, "discount")

    def batch_spec(self, batch_size: int) -> BatchSpec:
        """Minibatches, and what follows each transition where the target looks ahead."""
        spec = super().batch_spec(batch_size)
        if self.n_step == 1:
            return spec
        return spec._replace(n_step=self.n_step, discount=self.discount)

    def make_policy(self, key: PRNGKeyArray, obs_dim: int, action_dim: int) -> Policy:
        """A correction that is nearly zero everywhere."""
        hidden = self.policy_hidden
        return make_policy(
            key, self.head, obs_dim, action_dim, hidden, self.noise_ratio, self.max_correction
        )

    def weight(self, state: KLActorCriticState, q: Values) -> Scalar:
        """α, times E|Q| where it is relative."""
        temperature = super().weight(state, q)
        return (
            temperature * jnp.mean(jnp.abs(jax.lax.stop_gradient(q)))
            if self.temperature_in_q_units
            else temperature
        )

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
        return super().update_critic(state, batch, key, family)

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
        return self.unless_waiting(state, moved), info, log_ratio

    def update_temperature(
        self, state: KLActorCriticState, log_ratio: Values, action_dim: int, family: Family
    ) -> KLActorCriticState:
        """One step of a tuned α, unless the policy still waits: its KL of 0 says nothing yet."""
        if not self.tune_temperature:
            return state
        tuned = super().update_temperature(state, log_ratio, action_dim, family)
        return self.unless_waiting(state, tuned)

    def unless_waiting(
        self, old: KLActorCriticState, new: KLActorCriticState
    ) -> KLActorCriticState:
        """The new state, or the old one while only the critics learn."""
        if not self.critic_warmup_updates:
            return new
        learned = optax.tree_utils.tree_get(old.critic_optimiser, "count")  # Adam's own
        waits = learned <= self.critic_warmup_updates * self.utd_ratio
        return jax.tree.map(lambda o, n: jnp.where(waits, o, n), old, new)

    def policy_optimiser(self) -> Any:
        """Adam, and the average of the policies that it has made."""
        if not self.policy_ema_updates:
            return super().policy_optimiser()
        return optax.chain(super().policy_optimiser(), averaging(1.0 / self.policy_ema_updates))

    def sample(
        self, state: Any, obs: Array, reference: ReferenceStats | None, key: PRNGKeyArray
    ) -> Array:
        """An action to explore with; of several, the one that the critics value most."""
        keys = jax.random.split(key, self.candidates)
        draws = [super(Anchored, self).sample(state, obs, reference, k) for k in keys]
        return self.best(state, obs, draws)

    def mode(self, state: Any, obs: Array, reference: ReferenceStats | None) -> Array:
        """The mean, or one of some draws around it that the critics value more."""
        if self.policy_ema_updates:
            policy = optax.tree_utils.tree_get(state.policy_optimiser, "average")
            state = state._replace(policy=policy)
        keys = jax.random.split(jax.random.key(0), self.candidates)[1:]

        def draw(key: PRNGKeyArray) -> Array:
            sample = jax.vmap(
                lambda o, r: state.policy.condition_on(r).sample(o, own_key(key, o))[0]
            )
            return sample(obs, reference)

        mean = state.policy.condition_on(reference).mode(obs)
        return self.best(state, obs, [mean, *(draw(key) for key in keys)])

    def best(self, state: Any, obs: Array, actions: Sequence[Array]) -> Array:
        """At each state the action whose least value is the largest."""
        if len(actions) == 1:
            return actions[0]
        values = jnp.stack([jnp.min(state.critic(obs, action), axis=0) for action in actions])
        chosen = jnp.argmax(values, axis=0)
        return jnp.take_along_axis(jnp.stack(actions), chosen[None, ..., None], axis=0)[0]


class Average(NamedTuple):
    """A running average of parameters."""

    average: Any


def averaging(rate: float) -> optax.GradientTransformation:
    """Hands updates on as they are, and averages the parameters that they lead to."""

    def init(params: Any) -> Average:
        return Average(jax.tree.map(jnp.copy, params))

    def update(updates: Any, state: Any, params: Any = None) -> tuple[Any, Average]:
        after = optax.apply_updates(params, updates)
        return updates, Average(smoothed(after, state.average, rate))

    return optax.GradientTransformation(init, update)
