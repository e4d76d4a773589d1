from dataclasses import replace

import equinox as eqx
import jax
import numpy as np
import pytest

from nppac.agents.replay import (
    as_replay,
    empty_replay,
    filled_arrays,
    insert,
    n_step_outcome,
    restore,
    sample_rows,
    take,
)
from nppac.training.transitions import checked_stats, demonstrations, transitions
from nppac.types import Episode, ReferenceStats
from nppac.utils.errors import UserError

ahead = eqx.filter_jit(n_step_outcome)
"""As in training; as it is, every operation would be a program of its own."""


def episode(start, length, terminated):
    states = np.arange(start, start + length + 1, dtype=np.float32)[:, None]
    return Episode(states, -states[:-1], np.ones(length, np.float32), terminated=terminated)


class Counting:
    """A reference whose location is the state itself; counts what it was asked."""

    def __init__(self):
        self.asked = 0

    def __call__(self, obs):
        self.asked += len(obs)
        return ReferenceStats(obs.copy(), np.full_like(obs, 0.5))


def test_transitions_keep_each_state_beside_its_statistics():
    query = Counting()
    batch = transitions([episode(0, 3, True), episode(10, 2, False)], query)
    np.testing.assert_array_equal(batch.obs[:, 0], [0, 1, 2, 10, 11])
    np.testing.assert_array_equal(batch.next_obs[:, 0], [1, 2, 3, 11, 12])
    np.testing.assert_array_equal(batch.reference.loc, batch.obs)
    np.testing.assert_array_equal(batch.next_reference.loc, batch.next_obs)
    np.testing.assert_array_equal(batch.discount_mask, [1, 1, 0, 1, 1])
    assert query.asked == 4 + 3  # each new observation once


def test_the_oldest_transitions_are_overwritten():
    replay = empty_replay(4, 1, 1)
    for start in (0, 10, 20):
        replay = insert(replay, transitions([episode(start, 2, False)], Counting()))
    np.testing.assert_array_equal(replay.storage.obs[:, 0], [20, 21, 10, 11])
    assert int(replay.size) == 4
    assert int(replay.position) == 2


def test_sampling_covers_the_filled_rows_only():
    replay = insert(empty_replay(100, 1, 1), transitions([episode(0, 5, False)], Counting()))
    rows = sample_rows(replay, jax.random.key(0), 50, 8)
    assert rows.shape == (50, 8)
    assert set(np.unique(rows)) == {0, 1, 2, 3, 4}
    batch = take(replay, rows[0])
    np.testing.assert_array_equal(batch.next_obs, batch.obs + 1)


def test_restoring_gives_the_same_replay():
    replay = insert(empty_replay(7, 1, 1), transitions([episode(3, 5, True)], Counting()))
    again = restore(empty_replay(7, 1, 1), filled_arrays(replay))
    for ours, theirs in zip(jax.tree.leaves(again), jax.tree.leaves(replay), strict=True):
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize(("loc", "scale", "message"), [
    (np.zeros((2, 3)), np.zeros((2, 2)), "loc"),
    (np.zeros((2, 3)), np.array([[1, 1, 1], [1, -1, 1.0]]), "row 1"),
    (np.full((2, 3), np.nan), np.ones((2, 3)), "loc that is not finite"),
])  # fmt: skip
def test_a_sick_reference_is_named(loc, scale, message):
    with pytest.raises(UserError, match=message):
        checked_stats(ReferenceStats(loc, scale), np.zeros((2, 4)))


def test_episodes_without_rewards_are_refused():
    bare = Episode(np.zeros((3, 1)), np.zeros((2, 1)))
    with pytest.raises(UserError, match="no rewards"):
        transitions([bare], Counting())


def rewarded(start, rewards, terminated=False):
    """An episode of known rewards whose states count on from `start`."""
    states = np.arange(start, start + len(rewards) + 1, dtype=np.float32)[:, None]
    return Episode(states, -states[:-1], np.float32(rewards), terminated=terminated)


def test_looking_ahead_stops_at_the_end_of_the_episode():
    """γ = ½: from the first row 1 + 2/2 + 4/4; a time limit bootstraps, a termination does not."""
    episodes = [rewarded(0, [1, 2, 4, 8]), rewarded(10, [16, 32], terminated=True)]
    replay = as_replay(transitions(episodes, Counting()))
    outcome = ahead(replay, np.arange(6), 3, 0.5)
    np.testing.assert_allclose(outcome.reward, [3, 6, 8, 8, 32, 32])
    np.testing.assert_allclose(outcome.obs[:, 0], [3, 4, 4, 4, 12, 12])
    np.testing.assert_array_equal(outcome.reference.loc, outcome.obs)
    np.testing.assert_allclose(outcome.discount, [0.125, 0.125, 0.25, 0.5, 0, 0])


def test_one_step_ahead_is_the_transition_itself():
    replay = as_replay(transitions([rewarded(0, [1, 2, 4], terminated=True)], Counting()))
    outcome = ahead(replay, np.arange(3), 1, 0.9)
    np.testing.assert_array_equal(outcome.reward, replay.storage.reward)
    np.testing.assert_array_equal(outcome.obs, replay.storage.next_obs)
    np.testing.assert_allclose(outcome.discount, 0.9 * replay.storage.discount_mask)


def test_looking_ahead_goes_round_the_ring_but_not_from_the_newest_to_the_oldest():
    replay = empty_replay(6, 1, 1)
    for start in (0, 10):
        replay = insert(replay, transitions([rewarded(start, [1, 1, 1, 1])], Counting()))
    np.testing.assert_array_equal(replay.storage.obs[:, 0], [12, 13, 2, 3, 10, 11])
    outcome = ahead(replay, np.arange(6), 4, 1.0)
    np.testing.assert_array_equal(outcome.reward, [2, 1, 2, 1, 4, 3])
    np.testing.assert_array_equal(outcome.obs[:, 0], [14, 14, 4, 4, 14, 14])


def test_a_replay_that_is_not_full_does_not_look_into_its_empty_rows():
    replay = insert(empty_replay(9, 1, 1), transitions([rewarded(5, [1, 1])], Counting()))
    outcome = ahead(replay, np.arange(2), 5, 1.0)
    np.testing.assert_array_equal(outcome.reward, [2, 1])
    np.testing.assert_array_equal(outcome.obs[:, 0], [7, 7])


def test_demonstrations_lose_a_last_step_of_unknown_outcome():
    whole, cut = rewarded(0, [1, 2, 3], terminated=True), rewarded(10, [4, 5, 6], terminated=True)
    cut = replace(cut, observations=cut.observations[:-1])
    batch = demonstrations([whole, cut], Counting())
    np.testing.assert_array_equal(batch.obs[:, 0], [0, 1, 2, 10, 11])
    np.testing.assert_array_equal(batch.next_obs[:, 0], [1, 2, 3, 11, 12])
    np.testing.assert_array_equal(batch.reward, [1, 2, 3, 4, 5])
    np.testing.assert_array_equal(batch.discount_mask, [1, 1, 0, 1, 1])
    np.testing.assert_array_equal(batch.episode_end, [0, 0, 1, 0, 1])


def test_unknown_rewards_of_demonstrations_cannot_pass_for_numbers():
    bare = replace(rewarded(0, [1, 2]), rewards=None)
    batch = demonstrations([bare, rewarded(5, [3])], Counting())
    np.testing.assert_array_equal(np.isnan(batch.reward), [True, True, False])


def test_demonstrations_as_a_replay_are_full_of_themselves():
    batch = demonstrations([rewarded(0, [1, 2, 3])], Counting())
    replay = as_replay(batch)
    assert (replay.capacity, int(replay.size), int(replay.position)) == (3, 3, 0)
    for ours, theirs in zip(jax.tree.leaves(replay.storage), jax.tree.leaves(batch), strict=True):
        np.testing.assert_array_equal(ours, theirs)
    assert set(np.unique(sample_rows(replay, jax.random.key(0), 9, 9))) == {0, 1, 2}
