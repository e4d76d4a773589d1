import zlib
from itertools import islice

import numpy as np
import pytest

from nppac.tasks import get_task, make_env
from nppac.tasks.rollout import Cut, collect, episode_seeds, rollout

from .walk import Walk, still


def forward(rows):
    return np.tanh(rows[:, :1]) * 0.5 + 0.3


def assert_same(left, right):
    assert len(left) == len(right)
    for a, b in zip(left, right, strict=True):
        np.testing.assert_array_equal(a.observations, b.observations)
        np.testing.assert_array_equal(a.actions, b.actions)
        np.testing.assert_array_equal(a.rewards, b.rewards)
        assert a.terminated == b.terminated


@pytest.mark.parametrize("number", [2, 3, 9])
def test_episodes_do_not_depend_on_the_number_of_environments(number):
    seeds = list(range(7))
    alone = rollout([Walk()], forward, seeds)
    assert len({len(episode) for episode in alone}) > 1  # else the order would be put to no test
    assert_same(rollout([Walk() for _ in range(number)], forward, seeds), alone)


def test_an_episode_follows_from_its_seed_whatever_came_before():
    env = Walk()
    first = rollout([env], forward, [5])
    assert_same(rollout([env], forward, [1, 2, 5])[2:], first)
    assert not np.array_equal(
        first[0].observations[0], rollout([env], forward, [6])[0].observations[0]
    )


@pytest.mark.parametrize("name", ["halfcheetah", "door", "pen"])
def test_real_tasks_follow_from_the_seed_whatever_came_before(name):
    env = make_env(get_task(name))
    rng = np.random.default_rng(0)
    shape = env.action_space.shape
    fixed = rng.uniform(-1, 1, (1, *shape)).astype(np.float32)
    fresh = collect(env, lambda rows: fixed, iter([3]), 30)
    collect(env, lambda rows: rng.uniform(-1, 1, (1, *shape)), iter([4]), 30)
    assert_same(collect(env, lambda rows: fixed, iter([3]), 30), fresh)


def test_shapes_and_types():
    (episode,) = rollout([Walk()], forward, [0])
    steps = len(episode)
    assert episode.observations.shape == (steps + 1, 2)
    assert episode.actions.shape == (steps, 1)
    assert episode.rewards.shape == (steps,)
    assert {a.dtype for a in (episode.observations, episode.actions, episode.rewards)} == {
        np.dtype(np.float32)
    }
    np.testing.assert_array_equal(episode.rewards, 10.0 * np.arange(1, steps + 1))
    np.testing.assert_array_equal(episode.observations[:, 1], np.arange(steps + 1))


def test_termination_and_truncation_are_told_apart():
    pushed, stayed = (
        rollout([Walk()], act, [0])[0] for act in (lambda rows: still(rows) + 1, still)
    )
    assert pushed.terminated
    assert len(pushed) < 12
    assert not stayed.terminated
    assert len(stayed) == 12


def test_actions_are_clipped_for_the_environment_and_kept_as_asked():
    env = Walk()
    (episode,) = rollout([env], lambda rows: still(rows) - 2.5, [0])
    assert set(env.taken) == {-1.0}
    assert set(episode.actions.ravel()) == {-2.5}


def test_the_policy_always_sees_one_row_per_environment():
    shapes, kept = set(), []

    def act(rows):
        shapes.add(rows.shape)
        kept.append((rows, rows.copy()))
        return still(rows)

    rollout([Walk() for _ in range(4)], act, [0, 1, 2, 3, 4])
    assert shapes == {(4, 2)}
    for rows, copy in kept:  # what a policy holds on to must not change under it
        np.testing.assert_array_equal(rows, copy)


def test_a_policy_may_reuse_its_buffer():
    buffer = np.zeros((1, 1), np.float32)

    def act(rows):
        buffer[:] = rows[:, 1:] / 100
        return buffer

    (episode,) = rollout([Walk()], act, [0])
    np.testing.assert_array_equal(
        episode.actions[:, 0], np.float32(np.arange(12)) / np.float32(100)
    )


@pytest.mark.parametrize("key", ["success", "is_success"])
def test_successes_as_reported(key):
    (episode,) = rollout([Walk(reports=key)], still, [0])
    assert episode.successes.dtype == bool
    np.testing.assert_array_equal(np.flatnonzero(episode.successes), [1])


def test_successes_are_unknown_where_never_reported():
    assert rollout([Walk()], still, [0])[0].successes is None


def test_on_episode_hears_of_every_episode():
    heard = []
    episodes = rollout([Walk(), Walk()], forward, range(5), on_episode=heard.append)
    assert len(heard) == 5
    assert {id(episode) for episode in heard} == {id(episode) for episode in episodes}


def test_no_seeds_no_episodes():
    assert rollout([Walk()], still, []) == []


def test_collect_takes_exactly_its_budget_and_cuts_the_last_episode():
    episodes = collect(Walk(), still, iter(range(99)), 29)
    assert [len(episode) for episode in episodes] == [12, 12, 5]
    assert not episodes[-1].terminated
    assert len(episodes[-1].observations) == 6


def test_collect_cuts_every_episode_where_it_is_told():
    episodes = collect(Walk(), still, iter(range(99)), 22, Cut(longest=10))
    assert [len(episode) for episode in episodes] == [10, 10, 2]
    assert not any(episode.terminated for episode in episodes)


@pytest.mark.parametrize(("lost_steps", "lengths"), [(1, [4, 4, 4, 4]), (3, [6, 6, 4])])
def test_collect_cuts_an_episode_that_stays_lost(lost_steps, lengths):
    cut = Cut(lost=lambda obs: obs[1] >= 4, lost_steps=lost_steps)  # obs[1] counts the steps
    episodes = collect(Walk(), still, iter(range(99)), 16, cut)
    assert [len(episode) for episode in episodes] == lengths
    assert not any(episode.terminated for episode in episodes)


def test_collect_forgives_an_episode_that_finds_its_way():
    cut = Cut(lost=lambda obs: obs[1] in (3, 4, 6, 7), lost_steps=3)
    assert [len(episode) for episode in collect(Walk(), still, iter([0]), 12, cut)] == [12]


def test_a_termination_stays_one_where_the_episode_is_cut_too():
    (episode,) = rollout([Walk()], lambda rows: still(rows) + 1, [0])
    cut = Cut(lost=lambda obs: obs[1] >= len(episode))
    (again,) = collect(Walk(), lambda rows: still(rows) + 1, iter([0]), len(episode), cut)
    assert again.terminated


def test_collect_takes_one_seed_per_episode_and_agrees_with_rollout():
    seeds = iter(range(99))
    episodes = collect(Walk(), still, seeds, 24)
    assert next(seeds) == len(episodes) == 2
    assert_same(episodes, rollout([Walk(), Walk()], still, [0, 1]))


def test_collect_marks_a_termination_on_its_last_step():
    full = rollout([Walk()], lambda rows: still(rows) + 1, [0])[0]
    (episode,) = collect(Walk(), lambda rows: still(rows) + 1, iter([0]), len(full))
    assert episode.terminated


def test_collect_of_nothing():
    assert collect(Walk(), still, iter([]), 0) == []


def test_episode_seeds_resume_at_any_episode():
    seeds = list(islice(episode_seeds(3, "training"), 20))
    assert list(islice(episode_seeds(3, "training", start=12), 8)) == seeds[12:]
    assert all(type(seed) is int and 0 <= seed < 2**31 for seed in seeds)


def test_episode_seeds_differ_between_seeds_and_streams():
    streams = [
        frozenset(islice(episode_seeds(seed, stream), 50))
        for seed in (0, 1)
        for stream in ("training", "evaluation")
    ]
    assert len(frozenset().union(*streams)) == 200


def test_episode_seeds_never_change():
    """A run's record promises that its episodes can be had again by a later version."""
    assert list(islice(episode_seeds(0, "evaluation"), 3)) == [
        304599488,
        1740555348,
        1626480547,
    ]


def test_episode_seeds_are_children_of_one_seed_sequence():
    children = np.random.SeedSequence((5, zlib.crc32(b"training"))).spawn(4)
    expected = [int(child.generate_state(1)[0]) // 2 for child in children]
    assert list(islice(episode_seeds(5, "training"), 4)) == expected
