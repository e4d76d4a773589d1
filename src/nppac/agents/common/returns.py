"""Returns and advantages over whole episodes that lie in a ring, oldest to newest.

Every argument has one entry for each row of the ring. The newest row always ends an episode, so
that nothing flows from the oldest row back into it, nor out of rows that are still empty.
"""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

Rows = Float[Array, " rows"]
Position = Int[Array, ""] | int


def discounted_sums(values: Rows, decay: Rows, position: Position = 0) -> Rows:
    """y_t = x_t + k_t y_{t+1}; `position` is the row after the newest."""

    def join(later: tuple[Rows, Rows], earlier: tuple[Rows, Rows]) -> tuple[Rows, Rows]:
        (later_decay, later_value), (decay, value) = later, earlier
        return decay * later_decay, value + decay * later_value

    in_time = (jnp.roll(decay, -position), jnp.roll(values, -position))
    _, sums = jax.lax.associative_scan(join, in_time, reverse=True)
    return jnp.roll(sums, position)


def lambda_returns(
    reward: Rows,
    discount_mask: Rows,
    episode_end: Rows,
    next_value: Rows,
    discount: float,
    gae_lambda: float,
    position: Position = 0,
) -> Rows:
    """G_t = r_t + γ m_t ((1 - ℓ) V(s_{t+1}) + ℓ G_{t+1}), with ℓ = 0 at the end of an episode.

    So an episode that was cut short bootstraps, and one that terminated (m = 0) does not.
    """
    going_on = gae_lambda * (1.0 - episode_end)
    seen = reward + discount * discount_mask * (1.0 - going_on) * next_value
    return discounted_sums(seen, discount * discount_mask * going_on, position)


def generalised_advantage(returns: Rows, value: Rows) -> Rows:
    """A_t = Σ_j (γℓ)ʲ δ_{t+j} = G_t - V(s_t), where δ_t = r_t + γ m_t V(s_{t+1}) - V(s_t)."""
    return returns - value


def standardised(values: Rows, weights: Rows, epsilon: float) -> Rows:
    """(x - mean) / (standard deviation + ε), both over the rows that the weights admit."""
    mean = jnp.average(values, weights=weights)
    variance = jnp.average((values - mean) ** 2, weights=weights)
    return (values - mean) / (jnp.sqrt(variance) + epsilon)
