"""An environment whose episodes differ in length, for the tests of rollouts."""

import gymnasium as gym
import numpy as np
from gymnasium import spaces


class Walk(gym.Env):
    """A noisy walk on a line: it terminates past 3, is truncated after 12 steps."""

    observation_space = spaces.Box(-np.inf, np.inf, (2,), np.float32)
    action_space = spaces.Box(-1.0, 1.0, (1,), np.float32)

    def __init__(self, reports=None, broken=None):
        self.reports, self.broken = reports, broken
        self.taken = []
        self.buffer = np.zeros(2, np.float32)

    def _obs(self):
        self.buffer[:] = self.position, self.time  # one for all observations: simulators do that
        return self.buffer

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.position, self.time = float(self.np_random.normal()), 0
        return self._obs(), {}

    def step(self, action):
        self.taken.append(float(action[0]))
        self.time += 1
        self.position += float(action[0]) + 0.5 * float(self.np_random.normal())
        info = {} if self.reports is None else {self.reports: self.time == 2}
        obs, reward = self._obs(), 10.0 * self.time
        if self.broken == "observation" and self.time == 4:
            obs[1] = np.nan
        if self.broken == "reward" and self.time == 4:
            reward = np.inf
        return obs, reward, self.position > 3.0, self.time >= 12, info


def still(rows):
    return np.zeros((len(rows), 1), np.float32)
