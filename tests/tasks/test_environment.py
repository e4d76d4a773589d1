from dataclasses import replace

import gymnasium as gym
import numpy as np
import pytest
from gymnasium import spaces

from nppac.tasks import (
    TaskSpec,
    environment,
    get_task,
    make_env,
    obs_dim,
)
from nppac.utils.errors import UserError

from .echo import Echo, echo, steps_to_truncation


def test_horizon_overrides_and_none_keeps_the_environments_own():
    assert steps_to_truncation(make_env(echo(horizon=3))) == 3
    assert steps_to_truncation(make_env(echo())) == 7


def test_observations_are_float32():
    env = make_env(echo(observation_space=spaces.Box(-np.inf, np.inf, (2,), np.float64)))
    first, _ = env.reset(seed=0)
    second = env.step(np.zeros(1, np.float32))[0]
    assert first.dtype == second.dtype == env.observation_space.dtype == np.float32
    np.testing.assert_array_equal(first, [0.5, 0.5])
    np.testing.assert_array_equal(second, [1.5, 1.5])


def test_angles_are_wrapped_to_one_turn():
    env = make_env(replace(echo(), angles=(1,)))
    first, _ = env.reset(seed=0)
    np.testing.assert_array_equal(first, [0.5, 0.5])
    for _ in range(3):
        obs = env.step(np.zeros(1, np.float32))[0]
    np.testing.assert_allclose(obs, [3.5, 3.5 - 2.0 * np.pi], rtol=1e-6)
    assert obs.dtype == np.float32


def test_an_infinite_angle_is_no_number_and_warns_of_nothing():
    wrapped = replace(echo(), angles=(1,)).wrapped(np.float32([0.5, np.inf]))
    np.testing.assert_array_equal(wrapped, np.float32([0.5, np.nan]))


def test_an_angle_beyond_the_observation_is_refused():
    with pytest.raises(UserError, match="angle 2, but 'echo' has 2 observations"):
        make_env(replace(echo(), angles=(1, 2)))


def test_dict_observations_are_flattened_by_sorted_key():
    space = spaces.Dict(
        {"goal": spaces.Box(-9, 9, (1,)), "achieved": spaces.Box(-9, 9, (2,), np.float64)}
    )
    env = make_env(echo(observation_space=space))
    obs, _ = env.reset(seed=0)
    np.testing.assert_array_equal(obs, np.float32([1.0, 2.0, 7.0]))
    assert obs.dtype == np.float32
    assert obs_dim(env) == 3


def test_actions_are_rescaled_from_the_unit_box():
    space = spaces.Box(np.float32([-2.0, 0.0]), np.float32([2.0, 10.0]))
    env = make_env(echo(action_space=space))
    env.reset(seed=0)
    env.step(np.float32([0.5, -1.0]))
    np.testing.assert_allclose(env.unwrapped.last_action, [1.0, 0.0], atol=1e-6)


def test_an_action_space_of_the_unit_box_is_left_alone():
    assert "RescaleAction" not in str(make_env(get_task("halfcheetah")))


@pytest.mark.parametrize("key", ["success", "is_success"])
@pytest.mark.parametrize("value", [True, False, np.True_, 1.0])
def test_success_reward(key, value):
    env = make_env(echo(reward="success", info={key: value}))
    env.reset(seed=0)
    assert env.step(np.zeros(1, np.float32))[1] == float(value)


def test_environment_reward_is_kept():
    env = make_env(echo(info={"success": True}))
    env.reset(seed=0)
    assert env.step(np.zeros(1, np.float32))[1] == -0.25


def test_success_reward_without_reports_is_refused():
    env = make_env(echo(reward="success"))
    env.reset(seed=0)
    with pytest.raises(UserError, match="is_success"):
        env.step(np.zeros(1, np.float32))


@pytest.mark.parametrize(
    ("space", "remedy"),
    [
        (spaces.Discrete(3), "gymnasium.ActionWrapper"),
        (spaces.MultiBinary(3), "gymnasium.ActionWrapper"),
        (spaces.Box(-np.inf, np.inf, (2,)), "give its action_space the bounds"),
        (spaces.Box(0, 5, (2,), np.int64), "TransformAction to take floats"),
        (spaces.Box(-1.0, 1.0, (2, 2)), "the flattened matrix"),
        (spaces.Box(np.float32([-1, 0]), np.float32([1, 0])), "entries that cannot move"),
    ],
    ids=["discrete", "binary", "unbounded", "integers", "matrix", "fixed"],
)
def test_unusable_actions_are_refused_with_a_remedy(space, remedy):
    with pytest.raises(UserError) as caught:
        make_env(echo(action_space=space))
    assert str(space) in str(caught.value)
    assert "Box" in str(caught.value)
    assert remedy in str(caught.value)


@pytest.mark.parametrize(
    ("space", "found"),
    [
        (spaces.Discrete(16), "no numbers"),
        (spaces.Box(0, 255, (8, 8, 3), np.uint8), "images"),
        (spaces.Box(0, 255, (8, 8), np.uint8), "images"),
        (spaces.Dict({"a": spaces.Dict({"camera": spaces.Discrete(2)})}), "a.camera"),
    ],
    ids=["discrete", "image", "grey image", "nested"],
)
def test_unusable_observations_are_refused(space, found):
    with pytest.raises(UserError, match=found):
        make_env(echo(observation_space=space))


def test_an_environment_without_a_time_limit_gets_one(capsys):
    gym.register("nppac-tasks/Endless-v0", entry_point=Echo)
    for spec in (get_task("nppac-tasks/Endless-v0"), TaskSpec("mine", "nppac-tasks/Endless-v0")):
        assert steps_to_truncation(make_env(spec)) == environment.DEFAULT_HORIZON
    err = capsys.readouterr().err
    assert "nppac-tasks/Endless-v0 has no time limit: its episodes are cut after 1,000" in err
    assert err.count("\n") == 1  # said once, however often it is made


def test_an_environment_whose_dependency_is_missing():
    def needs_more(**kwargs):
        raise ImportError("No module named 'robot_driver'")

    gym.register("nppac-tasks/Needy-v0", entry_point=needs_more)
    with pytest.raises(UserError, match="robot_driver"):
        make_env(get_task("nppac-tasks/Needy-v0"))
