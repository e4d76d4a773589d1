"""Actor-critics whose evaluated policy searches where it is lost."""

import jax
import jax.numpy as jnp

from nppac.agents.base import State
from nppac.agents.common.actor_critic import ActorCritic
from nppac.agents.common.sampling import state_key
from nppac.types import Actions, Obs, ReferenceStats
from nppac.utils.settings import NonNegative, settings


@settings
class SearchingActorCritic(ActorCritic):
    """An actor-critic that knows by a scale where its demonstrations say nothing.

    A policy that acts by its mean alone can come to rest there for good.
    """

    lost_scale: NonNegative = 0.0
    """Where the mean scale over actions is larger, the evaluated policy adds noise of that scale,
    drawn from the state. 0: nowhere."""

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
        lost = jnp.mean(stats.scale, axis=-1, keepdims=True) > self.lost_scale
        keys = jax.vmap(lambda o: state_key(jax.random.key(1), o))(obs)
        noise = jax.vmap(lambda key, s: s * jax.random.normal(key, s.shape))(keys, stats.scale)
        return jnp.where(lost, action + noise, action)
