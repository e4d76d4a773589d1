import jax
import jax.numpy as jnp
import numpy as np
import pytest

from nppac.agents.common.returns import (
    discounted_sums,
    generalised_advantage,
    lambda_returns,
    standardised,
    value_units,
)
from nppac.agents.replay import empty_replay, insert
from nppac.types import Batch, ReferenceStats

DISCOUNT, TRACE = 0.99, 0.95
returned = jax.jit(lambda_returns, static_argnums=(4, 5))
summed = jax.jit(discounted_sums)


def plain_returns(reward, mask, end, next_value, order):
    """The recursion as a loop over the rows, newest first."""
    returns = np.zeros(len(reward))
    after = 0.0
    for t in reversed(order):
        n_step_outcome = next_value[t] if end[t] else (1 - TRACE) * next_value[t] + TRACE * after
        after = returns[t] = reward[t] + DISCOUNT * mask[t] * n_step_outcome
    return returns


def random_ring(rng, rows):
    """Episodes of random length, of which some terminate; the last row in time ends one."""
    end = (rng.random(rows) < 0.2).astype(np.float32)
    end[-1] = 1.0
    mask = 1.0 - end * (rng.random(rows) < 0.5)
    return [rng.normal(size=rows).astype(np.float32), mask.astype(np.float32), end]


def test_three_rewards_of_one():
    returns = returned(
        jnp.ones(3), jnp.array([1.0, 1, 0]), jnp.array([0.0, 0, 1]), jnp.zeros(3), DISCOUNT, TRACE
    )
    np.testing.assert_allclose(returns, [2.82504, 1.9405, 1.0], atol=1e-5)


@pytest.mark.parametrize("position", [0, 1, 17, 49])
def test_wherever_the_ring_begins_the_returns_are_those_of_a_loop(position):
    rng = np.random.default_rng(position)
    columns = [*random_ring(rng, 50), rng.normal(size=50).astype(np.float32)]
    expected = plain_returns(*columns, range(50))
    ring = [jnp.asarray(np.roll(column, position)) for column in columns]
    returns = returned(*ring, DISCOUNT, TRACE, position)
    np.testing.assert_allclose(np.roll(returns, -position), expected, atol=1e-5)


def test_empty_rows_change_nothing():
    rng = np.random.default_rng(0)
    columns = [*random_ring(rng, 20), rng.normal(size=20).astype(np.float32)]
    padded = [jnp.asarray(np.pad(column, (0, 12))) for column in columns]
    returns = returned(*padded, DISCOUNT, TRACE, 20)
    np.testing.assert_allclose(returns[:20], plain_returns(*columns, range(20)), atol=1e-5)


@pytest.mark.parametrize(("mask", "last"), [(0.0, 1.0), (1.0, 1.0 + DISCOUNT * 10.0)])
def test_only_a_termination_keeps_the_last_step_from_bootstrapping(mask, last):
    returns = returned(
        jnp.ones(2), jnp.array([1.0, mask]), jnp.array([0.0, 1]), jnp.full(2, 10.0), DISCOUNT, TRACE
    )
    assert float(returns[1]) == pytest.approx(last)
    first = 1.0 + DISCOUNT * ((1 - TRACE) * 10.0 + TRACE * last)
    assert float(returns[0]) == pytest.approx(first)


def test_nothing_flows_from_one_episode_into_the_one_before():
    ends, mask = jnp.array([0.0, 1, 0, 1]), jnp.ones(4)
    quiet = returned(jnp.zeros(4), mask, ends, jnp.zeros(4), DISCOUNT, TRACE)
    rich = returned(jnp.array([0.0, 0, 9, 9]), mask, ends, jnp.zeros(4), DISCOUNT, TRACE)
    np.testing.assert_array_equal(quiet[:2], rich[:2])


def test_generalised_advantage_is_the_sum_of_temporal_differences():
    rng = np.random.default_rng(3)
    reward, mask, end = random_ring(rng, 30)
    end, mask = np.eye(30, dtype=np.float32)[-1], np.ones(30, np.float32)
    values = rng.normal(size=31).astype(np.float32)
    delta = reward + DISCOUNT * mask * values[1:] - values[:-1]
    expected = [
        sum((DISCOUNT * TRACE) ** j * d for j, d in enumerate(delta[t:])) for t in range(30)
    ]
    columns = [jnp.asarray(column) for column in (reward, mask, end, values[1:])]
    returns = returned(*columns, DISCOUNT, TRACE)
    np.testing.assert_allclose(generalised_advantage(returns, values[:-1]), expected, atol=1e-4)


def test_discounted_sums_by_hand():
    sums = summed(jnp.array([1.0, 2.0, 4.0]), jnp.array([0.5, 0.25, 0.0]))
    np.testing.assert_allclose(sums, [2.5, 3.0, 4.0])


def test_standardising_counts_only_what_it_is_told_to():
    values = standardised(jnp.array([1.0, 3.0, 100.0]), jnp.array([1.0, 1.0, 0.0]), 0.0)
    np.testing.assert_allclose(values, [-1.0, 1.0, 98.0])


def filled_replay(reward, mask, end, capacity=8):
    rows = len(reward)
    zeros = np.zeros((rows, 1), np.float32)
    stats = ReferenceStats(zeros, zeros)
    reward, mask, end = (np.float32(column) for column in (reward, mask, end))
    batch = Batch(zeros, zeros, reward, zeros, mask, stats, stats, end)
    return insert(empty_replay(capacity, 1, 1), batch)


def test_values_are_measured_by_the_returns_of_the_first_episodes():
    # Terminated: G = (1 + 2/2, 2); the mean is 2 and all are equal.
    shift, scale = value_units(filled_replay([1, 2], [1, 0], [0, 1]), 0.5)
    assert (float(shift), float(scale)) == (2.0, 1.0)
    # Cut short and continued with the mean reward, 2, for ever, worth 4: G = (0 + 6/2, 4 + 4/2).
    shift, scale = value_units(filled_replay([0, 4], [1, 1], [0, 1]), 0.5)
    assert float(shift) == pytest.approx(4.5)
    assert float(scale) == pytest.approx(0.3 * 4)  # at least 0.3 of the largest reward
    # 40 steps at a discount of 0.99: returns that vary by far more than a reward.
    rows = [1] * 40, [1] * 39 + [0], [0] * 39 + [1]
    _, scale = value_units(filled_replay(*rows, capacity=64), 0.99)
    returns = [100 * (1 - 0.99**n) for n in range(1, 41)]
    assert float(scale) == pytest.approx(0.1 * np.std(returns), rel=1e-4)


def test_without_rewards_values_keep_their_unit():
    shift, scale = value_units(filled_replay([0, 0, 0], [1, 1, 1], [0, 0, 1]), 0.99)
    assert (float(shift), float(scale)) == (0.0, 1.0)
