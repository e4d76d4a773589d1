"""Returns and advantages over whole episodes in a ring buffer.

Every argument has one entry for each row of the buffer. The newest row always ends an episode, so
that neither the oldest row nor an empty one contributes to it.
"""

from functools import partial

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from nppac.agents.replay import Replay
from nppac.types import AnyArray, Scalar

RowValues = Float[AnyArray, " rows"]
"""One number for each row of the replay."""
Position = Int[Array, ""] | int

_Pair = tuple[RowValues, RowValues]


def discounted_sums(values: RowValues, decay: RowValues, position: Position = 0) -> RowValues:
    """y_t = x_t + k_t y_{t+1}; `position` is the row after the newest."""

    def join(later: _Pair, earlier: _Pair) -> _Pair:
        (later_decay, later_value), (decay, value) = later, earlier
        return decay * later_decay, value + decay * later_value

    in_time = (jnp.roll(decay, -position), jnp.roll(values, -position))
    _, sums = jax.lax.associative_scan(join, in_time, reverse=True)
    return jnp.roll(sums, position)


def lambda_returns(
    reward: RowValues,
    discount_mask: RowValues,
    episode_end: RowValues,
    next_value: RowValues,
    discount: float,
    gae_lambda: float,
    position: Position = 0,
) -> RowValues:
    """G_t = r_t + γ m_t ((1 - ℓ) V(s_{t+1}) + ℓ G_{t+1}), with ℓ = 0 at the end of an episode.

    An episode that was cut short bootstraps; one that terminated (m = 0) does not.
    """
    going_on = gae_lambda * (1.0 - episode_end)
    seen = reward + discount * discount_mask * (1.0 - going_on) * next_value
    return discounted_sums(seen, discount * discount_mask * going_on, position)


def generalised_advantage(returns: RowValues, value: RowValues) -> RowValues:
    """A_t = Σ_j (γℓ)ʲ δ_{t+j} = G_t - V(s_t), where δ_t = r_t + γ m_t V(s_{t+1}) - V(s_t)."""
    return returns - value


@partial(jax.jit, static_argnames="discount")
def value_units(replay: Replay, discount: float) -> tuple[Scalar, Scalar]:
    """The mean of the discounted returns in a replay, and a tenth of their standard deviation.

    An episode that was cut short is continued with the mean reward. The unit is at least 0.3 of the
    largest reward: where few rewards have been seen, returns hardly vary yet. Equal returns, as
    where no reward has been seen, have the unit 1.
    """
    stored, weights = replay.storage, jnp.arange(replay.capacity) < replay.size
    mean_reward = jnp.average(stored.reward, weights=weights)
    beyond = jnp.full_like(stored.reward, mean_reward / max(1.0 - discount, 1e-3))
    returns = lambda_returns(
        stored.reward,
        stored.discount_mask,
        stored.episode_end,
        beyond,
        discount,
        1.0,
        replay.position,
    )
    shift = jnp.average(returns, weights=weights)
    spread = jnp.sqrt(jnp.average((returns - shift) ** 2, weights=weights))
    largest = jnp.max(jnp.where(weights, jnp.abs(stored.reward), 0.0))
    return shift, jnp.where(spread > 0.0, jnp.maximum(0.1 * spread, 0.3 * largest), 1.0)


def standardised(values: RowValues, weights: RowValues, epsilon: float) -> RowValues:
    """(x - mean) / (standard deviation + ε), both weighted by `weights`."""
    mean = jnp.average(values, weights=weights)
    variance = jnp.average((values - mean) ** 2, weights=weights)
    return (values - mean) / (jnp.sqrt(variance) + epsilon)
