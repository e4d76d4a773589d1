import numpy as np
import pytest

from nppac.demos import demos_from_episodes, load_demos, save_demos
from nppac.demos.record import noisy, with_intended_actions
from nppac.types import Episode
from nppac.utils.errors import UserError

from .samples import assert_same, make_demos, make_episode


def test_recorded_demos_are_float32_and_know_their_origin(tmp_path):
    double = Episode(np.zeros((3, 2)), np.ones((2, 1)), np.arange(2), np.arange(2), terminated=True)
    demos = demos_from_episodes(
        [double], env_id="E-v0", env_kwargs={"a": 1}, provenance={"seed": 7}
    )
    (episode,) = demos.episodes
    assert episode.observations.dtype == episode.actions.dtype == np.float32
    assert episode.rewards is not None
    assert episode.rewards.dtype == np.float32
    assert episode.successes is not None
    assert episode.successes.tolist() == [False, True]
    assert episode.terminated
    assert demos.source == "recorded in E-v0"
    save_demos(tmp_path / "d.npz", demos)
    found = load_demos(tmp_path / "d.npz")
    assert found.metadata == {
        "env_id": "E-v0",
        "env_kwargs": {"a": 1},
        "provenance": {"seed": 7},
        "actions": "normalised",
    }
    assert_same(found, demos)


def test_any_iterable_of_episodes():
    episodes = (make_episode(n, i) for i, n in enumerate((4, 3)))
    demos = demos_from_episodes(episodes, env_id="E", env_kwargs={}, provenance={})
    assert_same(demos, make_demos())


def test_noise_is_that_of_the_seed_and_stays_in_the_box():
    obs = np.zeros((4000, 2))

    def still(obs):
        return np.tile(np.array([0.0, 0.95], np.float32), (len(obs), 1))

    actions = noisy(still, 0.1, seed=3)(obs)
    assert actions.dtype == np.float32
    assert actions[:, 0].std() == pytest.approx(0.1, rel=0.05)
    assert actions.max() == 1.0
    np.testing.assert_array_equal(actions, noisy(still, 0.1, seed=3)(obs))
    assert (actions != noisy(still, 0.1, seed=4)(obs)).any()
    assert noisy(still, 0.0, seed=3) is still


@pytest.mark.parametrize("noise", [-0.1, float("nan"), 3.0])
def test_noise_that_makes_no_sense_is_refused(noise):
    with pytest.raises(UserError, match="'noise' is"):
        noisy(lambda obs: obs, noise, seed=0)


def test_intended_actions_take_the_place_of_disturbed_ones():
    episode = make_episode(4, 0)
    found = with_intended_actions(episode, lambda obs: 3.0 * obs[:, :1])
    expected = np.clip(3.0 * episode.observations[:4, :1], -1.0, 1.0)
    np.testing.assert_array_equal(found.actions, expected.astype(np.float32))
    np.testing.assert_array_equal(found.observations, episode.observations)
    assert found.rewards is episode.rewards
