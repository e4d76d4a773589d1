"""Rest: a state that hardly changes any more. On a task that asks for motion it is a failure.

Where no fall ends an episode, as on HalfCheetah, a policy that has fallen lies still for hundreds
of steps. Rewards are not needed to see it.
"""

from collections import deque

import gymnasium as gym
import numpy as np
from jaxtyping import Bool, Float

WINDOW = 25
"""Steps over which the state is watched."""
STILL = 0.6
"""It rests if its standard deviation in a window, averaged over observations, is below this share
of that of all demonstrated states. HalfCheetah runs at 0.7 and more, and lies at 0.5 and less with
half of a reference's noise on its actions."""


def at_rest(windows: Float[np.ndarray, "n o window"]) -> Bool[np.ndarray, " n"]:
    """Whether standardised states hardly change within each window."""
    return windows.std(-1).mean(-1) < STILL


class RestTerminates(gym.Wrapper):
    """Terminates an episode where it comes to rest: nothing more is to be had from there.

    Otherwise the replay would fill with copies of one posture, and the critics would have to
    learn from bootstrapped targets that it is worth nothing.
    """

    def __init__(self, env: gym.Env, scale: Float[np.ndarray, " o"]):
        super().__init__(env)
        self._scale = np.where(scale > 0, scale, 1.0)
        self._recent: deque[np.ndarray] = deque(maxlen=WINDOW)

    def reset(self, *, seed: int | None = None, options: dict[str, object] | None = None):
        """A fresh episode, of which nothing was seen before."""
        obs, info = self.env.reset(seed=seed, options=options)
        self._recent.clear()
        self._recent.append(obs / self._scale)
        return obs, info

    def step(self, action: object):
        """One step, which terminates where the last ones hardly changed the state."""
        obs, reward, terminated, truncated, info = self.env.step(action)
        self._recent.append(obs / self._scale)
        if len(self._recent) == WINDOW:
            terminated = terminated or bool(at_rest(np.stack(self._recent, axis=-1)[None])[0])
        return obs, reward, terminated, truncated, info
