from dataclasses import FrozenInstanceError, replace

import numpy as np
import pytest

from nppac.demos import Demos
from nppac.utils.errors import UserError

from .samples import make_demos, make_episode


@pytest.mark.parametrize("extra", [0, 1])
def test_stacks_one_observation_for_each_action(extra):
    demos = make_demos(extra)
    first, second = demos.episodes
    assert demos.obs.shape == (7, 3)
    assert demos.actions.shape == (7, 2)
    np.testing.assert_array_equal(demos.obs[4], second.observations[0])
    np.testing.assert_array_equal(demos.obs[3], first.observations[3])
    assert (demos.obs_dim, demos.action_dim, demos.steps, len(demos)) == (3, 2, 7, 2)


def test_has_rewards_only_if_every_episode_has():
    assert make_demos().has_rewards
    assert not Demos((make_episode(), make_episode(rewards=None))).has_rewards
    assert not Demos(()).has_rewards


def test_first_keeps_source_and_metadata():
    demos = Demos(make_demos().episodes, "s", {"env_id": "E"})
    one = demos.first(1)
    assert one.episodes == demos.episodes[:1]
    assert (one.source, one.metadata) == ("s", {"env_id": "E"})
    assert len(demos.first(9)) == 2


def test_truncate_cuts_every_array_and_ends_no_task():
    episode = make_episode(4, successes=np.array([0, 0, 1, 1], bool), terminated=True)
    (cut,) = Demos((episode,)).truncate(2).episodes
    np.testing.assert_array_equal(cut.observations, episode.observations[:3])
    np.testing.assert_array_equal(cut.actions, episode.actions[:2])
    np.testing.assert_array_equal(cut.rewards, episode.rewards[:2])
    np.testing.assert_array_equal(cut.successes, [False, False])
    assert not cut.terminated


def test_truncate_leaves_shorter_episodes_alone():
    episode = make_episode(4, terminated=True)
    assert Demos((episode,)).truncate(4).episodes == (episode,)


@pytest.mark.parametrize("method", ["first", "truncate"])
def test_zero_is_refused(method):
    with pytest.raises(UserError, match="ask for 1 or more"):
        getattr(make_demos(), method)(0)


@pytest.mark.parametrize("name", ["obs", "actions", "obs_dim", "action_dim"])
def test_no_episodes_is_the_users_error(name):
    with pytest.raises(UserError, match=r"x\.npz: no episodes"):
        getattr(Demos((), "x.npz"), name)


def test_rows_of_different_shapes_are_the_users_error():
    demos = Demos((make_episode(), make_episode(actions=np.zeros((4, 5), np.float32))))
    with pytest.raises(UserError, match="actions have rows of different shapes"):
        _ = demos.actions


def test_is_frozen():
    with pytest.raises(FrozenInstanceError):
        make_demos().source = "other"  # type: ignore[misc]


def test_a_fingerprint_tells_demonstrations_apart():
    demos = make_demos()
    assert demos.fingerprint == make_demos().fingerprint
    assert len(demos.fingerprint) == 64
    first, second = demos.episodes
    bent = first.actions.copy()
    bent[0, 0] += np.float32(1e-6)
    for other in (
        replace(first, actions=bent),
        replace(first, terminated=True),
        replace(first, rewards=None),
        replace(first, successes=np.zeros(4, bool)),
        replace(first, observations=first.observations[:-1]),
    ):
        assert replace(demos, episodes=(other, second)).fingerprint != demos.fingerprint
    assert replace(demos, episodes=(second, first)).fingerprint != demos.fingerprint
    assert replace(demos, source="elsewhere").fingerprint == demos.fingerprint


def test_demonstrations_are_shown_in_one_line():
    demos = make_demos()
    shown = "Demos(2 episodes, 7 steps, 3 observations, 2 actions, source="
    assert repr(demos).startswith(shown)
    assert "\n" not in repr(demos)
    assert repr(Demos(())) == "Demos(0 episodes, 0 steps, source='')"
