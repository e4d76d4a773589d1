import jax
import jax.numpy as jnp
import numpy as np
import pytest

from nppac.errors import UserError
from nppac.replay import (
    checked_stats,
    empty_replay,
    filled_arrays,
    insert,
    restore,
    sample_rows,
    take,
    transitions,
)
from nppac.types import Episode, ReferenceStats


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
    ask = Counting()
    batch = transitions([episode(0, 3, True), episode(10, 2, False)], ask)
    np.testing.assert_array_equal(batch.obs[:, 0], [0, 1, 2, 10, 11])
    np.testing.assert_array_equal(batch.next_obs[:, 0], [1, 2, 3, 11, 12])
    np.testing.assert_array_equal(batch.reference.loc, batch.obs)
    np.testing.assert_array_equal(batch.next_reference.loc, batch.next_obs)
    np.testing.assert_array_equal(batch.discount_mask, [1, 1, 0, 1, 1])
    assert ask.asked == 4 + 3  # each new observation once


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
    bare = Episode(jnp.zeros((3, 1)), jnp.zeros((2, 1)))
    with pytest.raises(UserError, match="no rewards"):
        transitions([bare], Counting())
