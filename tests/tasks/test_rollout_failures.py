import gymnasium as gym
import numpy as np
import pytest
from gymnasium import spaces

from nppac.tasks import get_task, make_env
from nppac.tasks.rollout import collect, rollout
from nppac.utils.errors import UserError
from nppac.utils.imports import FailedEnvironment

from .walk import Walk, still


@pytest.mark.parametrize("broken", ["observation", "reward"])
def test_what_an_environment_breaks_is_named_with_its_step(broken):
    with pytest.raises(
        UserError, match=f"{broken} .* is not finite in float32, at step 4 .*unstable"
    ):
        rollout([Walk(broken=broken)], still, [0])


def test_a_diverged_policy_is_named_before_the_environment_sees_it():
    env = Walk()

    def act(rows):
        return still(rows) + (np.nan if rows[0, 1] == 2 else 0)

    with pytest.raises(UserError, match=r"action is not finite in float32, at step 3 .*diverged"):
        collect(env, act, iter([0]), 10)
    assert env.taken == [0.0, 0.0]


def test_an_idle_row_may_be_anything():
    def act(rows):
        return np.float32([[0.0], [np.nan]])

    assert len(rollout([Walk(), Walk()], act, [0])) == 1


def test_actions_of_another_shape_are_refused():
    with pytest.raises(ValueError, match=r"\(2, 1\)"):
        rollout([Walk(), Walk()], lambda rows: np.zeros((1, 1)), [0])


class Huge(Walk):
    """An environment whose numbers exist in float64 alone."""

    observation_space = spaces.Box(-np.inf, np.inf, (2,), np.float64)

    def step(self, action):
        obs, reward, terminated, truncated, info = super().step(action)
        obs = np.float64(obs)
        if self.time == 3:
            if self.broken == "huge reward":
                reward = 1e39
            else:
                obs[1] = -1e39
        return obs, reward, terminated, truncated, info


gym.register("nppac-test/Huge-v0", entry_point=Huge, kwargs={"broken": "huge observation"})


def test_numbers_too_large_for_the_replay_are_named():
    with pytest.raises(UserError, match=r"reward 1e\+39 is not finite in float32, at step 3"):
        rollout([Huge(broken="huge reward")], still, [0])
    message = r"observation -1e\+39 at index 1 is not finite in float32, at step 3"
    for env in (Huge(broken="huge observation"), make_env(get_task("nppac-test/Huge-v0"))):
        with pytest.raises(UserError, match=message):
            collect(env, still, iter([0]), 20)


class Failing(Walk):
    def step(self, action):
        if self.time == 3:
            self.give_up()
        return super().step(action)

    def give_up(self):
        raise self.broken


@pytest.mark.parametrize("error", [SystemExit(0), KeyError("joint"), StopIteration()])
def test_an_environment_that_fails_shows_its_own_code(error):
    with pytest.raises(FailedEnvironment) as caught:
        rollout([Failing(broken=error)], still, [0])
    assert caught.value.__cause__ is error
    text = str(caught.value)
    assert text.startswith("Traceback (most recent call last):\n")
    assert "raise self.broken" in text
    assert "/nppac/tasks/" not in text
    assert type(error).__name__ in text
    assert text.endswith("The environment failed at step 4 of an episode, as shown above.")


@pytest.mark.parametrize("error", [KeyboardInterrupt(), UserError("mine")])
def test_what_is_no_failure_passes(error):
    with pytest.raises(type(error)) as caught:
        rollout([Failing(broken=error)], still, [0])
    assert caught.value is error


class Stillborn(Walk):
    def __init__(self):
        raise SystemExit(0)


gym.register("nppac-test/Stillborn-v0", entry_point=Stillborn)


def test_an_environment_that_cannot_be_made_shows_its_own_code():
    with pytest.raises(FailedEnvironment, match=r"raise SystemExit\(0\)(.|\n)*when it was made"):
        make_env(get_task("nppac-test/Stillborn-v0"))
