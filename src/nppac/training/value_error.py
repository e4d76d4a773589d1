"""The error of the critics: their values against returns that they have not learned from."""

from functools import partial
from typing import Protocol, runtime_checkable

import jax
import jax.numpy as jnp

from nppac.agents.base import State
from nppac.agents.common.returns import lambda_returns
from nppac.types import Actions, Batch, Obs, ReferenceStats, Scalar, Values


@runtime_checkable
class ValuedAgent(Protocol):
    """A method whose critics judge actions."""

    discount: float

    def values(self, state: State, obs: Obs, action: Actions, reference: ReferenceStats) -> Values:
        """Q(s, a) in the rewards' units."""
        ...


def value_error(agent: object, state: State, batch: Batch) -> dict[str, float]:
    """Mean return and the critics' mean error over new episodes, before they are learned from.

    `value_return` is E[G], `value_bias` E[Q - G] and `value_error` √E[(Q - G)²], where G_t is the
    discounted sum of the rewards to the end of the episode. An episode that did not terminate is
    continued with the critics' own value of its last action. The penalty is not in G, so
    a critic whose target holds one shows it as bias.
    """
    if not isinstance(agent, ValuedAgent):
        return {}
    found = _value_error(agent, state, batch)
    return {name: float(value) for name, value in found.items()}


@partial(jax.jit, static_argnames="agent")
def _value_error(agent: ValuedAgent, state: State, batch: Batch) -> dict[str, Scalar]:
    q = jnp.asarray(agent.values(state, batch.obs, batch.action, batch.reference))
    cut = batch.episode_end * batch.discount_mask
    # At a cut the return is the critics' own value, so that no error is counted there.
    reward = jnp.where(cut > 0, q, batch.reward)
    returns = lambda_returns(
        reward,
        batch.discount_mask,
        batch.episode_end,
        jnp.zeros_like(q),
        agent.discount,
        1.0,
    )
    error = q - returns
    return {
        "value_return": jnp.mean(returns),
        "value_bias": jnp.mean(error),
        "value_error": jnp.sqrt(jnp.mean(error**2)),
    }
