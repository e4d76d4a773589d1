"""Critics whose outputs are of order ten, whatever the size of the returns."""

from jaxtyping import Array, Float

from nppac.agents.base import State
from nppac.agents.common.actor_critic import ActorCritic
from nppac.agents.common.returns import value_units
from nppac.agents.replay import Replay
from nppac.types import AnyArray, Values
from nppac.utils.settings import settings


@settings
class CalibratedActorCritic(ActorCritic):
    """An actor-critic whose state has `value_shift` and `value_scale`, the units of its critics."""

    normalise_values: bool = False
    """Give the critics outputs of order ten; Adam would take long to reach values of 1,000."""

    def calibrated(self, state: State, replay: Replay) -> State:
        """Before the first update: the units of the critics, from the returns in the replay."""
        if not self.normalise_values:
            return state
        shift, scale = value_units(replay, self.discount)
        return state._replace(value_shift=shift, value_scale=scale)


def in_reward_units(state: State, q: Float[AnyArray, "*n"]) -> Float[Array, "*n"]:
    """Values as the critics give them, in the rewards' units."""
    return state.value_shift + state.value_scale * q


def in_critic_units(state: State, value: Values) -> Values:
    """Values in the rewards' units, as the critics give them."""
    return (value - state.value_shift) / state.value_scale
