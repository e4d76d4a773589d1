"""Actor-critics whose evaluated policy searches where it is lost."""

import jax
import jax.numpy as jnp
from jaxtyping import Bool

from nppac.agents.base import State
from nppac.agents.common.actor_critic import ActorCritic
from nppac.agents.common.sampling import state_key
from nppac.types import Actions, AnyArray, Obs, ReferenceStats
from nppac.utils.errors import UserError
from nppac.utils.settings import Count, Fraction, NonNegative, settings

LOST_RATIO = 0.87
"""The presets' `lost_ratio`. HalfCheetah's reference has 0.2 of its far scale where the cheetah
runs, and 0.96 of it where the cheetah lies."""


@settings
class SearchingActorCritic(ActorCritic):
    """An actor-critic that knows by a scale where its demonstrations say nothing.

    A policy that acts by its mean alone can come to rest there for good.
    """

    lost_scale: NonNegative = 0.0
    """Where the mean scale over actions is larger, the evaluated policy adds noise of that scale,
    drawn from the state. 0: nowhere."""
    lost_ratio: Fraction = 0.0
    """The same as a fraction of the reference's scale far from all demonstrations; a `lost_scale`
    wins over it. Without effect where the reference knows of no such scale, as a network."""
    max_lost_steps: Count | None = None
    """End a training episode, as a truncation, after so many steps in a row where the reference's
    scale says that it is lost. Needs a `lost_scale` or a `lost_ratio`."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.max_lost_steps and not (self.lost_scale or self.lost_ratio):
            raise UserError(
                f"'max_lost_steps' is {self.max_lost_steps}, but 'lost_scale' and 'lost_ratio' are "
                "0, so no step is lost. Give a 'lost_ratio', such as 0.87, or None for this one."
            )

    def mode(self, state: State, obs: Obs, reference: ReferenceStats | None) -> Actions:
        """The deterministic actions; where the policy's own scale says that it is lost, noisy."""
        action = super().mode(state, obs, reference)
        if not self.lost_scale:
            return action
        policy = self.averaged(state).policy.condition_on(reference)
        return self.searching(action, obs, ReferenceStats(*policy.loc_scale(obs)))

    def searching(self, action: Actions, obs: Obs, stats: ReferenceStats) -> Actions:
        """The action, with noise of the given scale where that exceeds `lost_scale`."""
        if not self.lost_scale:
            return action
        keys = jax.vmap(lambda o: state_key(jax.random.key(1), o))(obs)
        noise = jax.vmap(lambda key, s: s * jax.random.normal(key, s.shape))(keys, stats.scale)
        return jnp.where(self.is_lost(stats.scale)[..., None], action + noise, action)

    def is_lost(self, scale: Actions) -> Bool[AnyArray, "*batch"]:
        """Where the mean scale over actions exceeds `lost_scale`."""
        return scale.mean(axis=-1) > self.lost_scale
