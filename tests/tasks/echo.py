"""An environment that remembers its last action, and its task."""

import gymnasium as gym
import numpy as np
from gymnasium import spaces

from nppac.tasks import TaskSpec


class Echo(gym.Env):
    """Remembers its last action; reports what it is told to."""

    def __init__(self, observation_space=None, action_space=None, info=None, render_mode=None):
        self.observation_space = observation_space or spaces.Box(-np.inf, np.inf, (2,))
        self.action_space = action_space or spaces.Box(-1.0, 1.0, (1,), np.float32)
        self.render_mode = render_mode
        self._info = info or {}
        self._buffer = np.zeros(
            2, np.float32
        )  # one buffer for all observations, as some simulators do

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        if isinstance(self.observation_space, spaces.Dict):
            return {"goal": np.array([7.0]), "achieved": np.array([1.0, 2.0])}, {}
        self._position = np.full(2, 0.5)
        return self._position, {}

    def step(self, action):
        self.last_action = np.array(action)
        self._position = self._position + 1.0
        return self._position, -0.25, False, False, dict(self._info)


gym.register("nppac-tasks/Echo-v0", entry_point=Echo, max_episode_steps=7)


def echo(**kwargs) -> TaskSpec:
    horizon, reward = kwargs.pop("horizon", None), kwargs.pop("reward", "environment")
    return TaskSpec(
        "echo", "nppac-tasks/Echo-v0", env_kwargs=kwargs, horizon=horizon, reward=reward
    )


def steps_to_truncation(env: gym.Env) -> int:
    env.reset(seed=0)
    action = np.zeros(env.action_space.shape, np.float32)
    for step in range(1, 2000):
        _, _, terminated, truncated, _ = env.step(action)
        if terminated or truncated:
            assert truncated
            return step
    raise AssertionError("no time limit")
