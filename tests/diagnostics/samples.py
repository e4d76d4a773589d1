"""References whose behaviour off the data is known, and demonstrations of two straight lines."""

import numpy as np

from nppac.diagnostics import Evidence
from nppac.references.base import Reference
from nppac.types import ReferenceStats

ACTION_DIM = 2


class Known(Reference):
    """Location 0 and the given function of the distance from the origin as scale."""

    def __init__(self, scale, family="normal"):
        self.scale, self.family = scale, family

    def __call__(self, obs):
        distance = np.linalg.norm(obs, axis=1, keepdims=True)
        scale = np.broadcast_to(self.scale(distance), (len(obs), ACTION_DIM))
        return ReferenceStats(self.mean(obs), scale.astype(np.float32))

    def mean(self, obs):
        return np.zeros((len(obs), ACTION_DIM), np.float32)

    def arrays(self):
        raise AssertionError("a diagnosis saves no reference")

    @classmethod
    def from_arrays(cls, arrays):
        raise AssertionError("a diagnosis loads no reference")

    def summary(self):
        return {}


def evidence(rollout_obs=None, seed=0) -> Evidence:
    rng = np.random.default_rng(seed)
    obs = rng.normal(size=(80, 3)).astype(np.float32)
    actions = rng.normal(size=(80, ACTION_DIM)).astype(np.float32)
    return Evidence(obs, obs, actions, 4, True, rollout_obs)
