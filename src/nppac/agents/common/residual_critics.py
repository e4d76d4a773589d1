"""Actor-critics whose critics may see where an action lies within the reference's density."""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from nppac.agents.base import State
from nppac.agents.common.temperature import TemperedActorCritic
from nppac.nn.critics import CriticEnsemble
from nppac.nn.standardise import fit_standardiser
from nppac.types import Actions, Obs, ReferenceStats
from nppac.utils.settings import settings


@settings
class ResidualActorCritic(TemperedActorCritic):
    """An actor-critic that can show its critics (a - μ0(s)) / σ0(s)."""

    critic_residuals: bool = False
    """Show the critics observations in the demonstrations' units, and with each action its distance
    from the reference's mean in units of the reference's scale."""

    def make_critic(self, key: PRNGKeyArray, obs_dim: int, action_dim: int) -> CriticEnsemble:
        """Fresh critics, of residuals where asked for."""
        sizes = self.num_qs, obs_dim, action_dim, self.critic_hidden
        views = self.layer_norm, self.clip_actions, self.critic_residuals
        return CriticEnsemble(key, *sizes, *views)

    def judge(
        self, critic: CriticEnsemble, obs: Obs, action: Actions, reference: ReferenceStats
    ) -> Float[Array, "n *batch"]:
        """Every critic's value of an action, which they may see relative to the reference."""
        return critic(obs, action, self.with_unit(reference))

    def with_unit(self, stats: ReferenceStats) -> ReferenceStats:
        """The reference with the scale that residuals are measured in."""
        return stats

    def with_demo_units(self, state: State, obs: np.ndarray, actions: np.ndarray) -> State:
        """A fresh state whose networks measure in the units of these, where asked to."""
        state = super().with_demo_units(state, obs, actions)
        if not self.critic_residuals:
            return state
        critic = state.critic.with_units(fit_standardiser(obs), self.smallest_units(actions))
        return state._replace(critic=critic, target_critic=jax.tree.map(jnp.copy, critic))

    def smallest_units(self, actions: np.ndarray) -> np.ndarray:
        """The smallest scale of each action in which residuals are measured."""
        return np.zeros(actions.shape[-1])
