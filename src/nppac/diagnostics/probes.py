"""States off the data: along random and principal directions, and where a policy really goes.

A distance is a root mean square over observation dimensions, each in units of its own standard
deviation over the demonstrations: ‖(s - s̄)/std‖ / √o. At distance 1 every dimension has moved by
one standard deviation, on average.
"""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import gymnasium as gym
import numpy as np
from scipy.spatial import KDTree

from nppac.diagnostics.query import query_mean
from nppac.references.base import Reference
from nppac.tasks import action_dim
from nppac.tasks.rollout import episode_seeds, rollout
from nppac.utils.progress import Advance, silent

WAYS = {
    "random": "random directions",
    "principal": "principal directions",
    "rollout": "own rollouts, exploring",
}
"""The ways off the data, in words."""
DISTANCES = (0.0, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0)
"""How far probes leave a demonstrated state."""
COMPONENTS = 3
"""Principal components along which probes leave the data."""
_CONSTANT = 1e-6
"""A dimension that varies less than this, relative to its size, does not vary at all."""


@dataclass(frozen=True, eq=False)
class DistanceMetric:
    """Measures observations in standard deviations of the demonstrations."""

    mean: np.ndarray
    std: np.ndarray
    """(o,); 0 where the demonstrations never vary, so that probes do not move there either."""
    tree: KDTree

    @classmethod
    def of(cls, obs: np.ndarray) -> "DistanceMetric":
        """The metric of demonstrated observations (N, o)."""
        mean, std = obs.mean(0, dtype=np.float64), obs.std(0, dtype=np.float64)
        std = np.where(std > _CONSTANT * (1.0 + np.abs(mean)), std, 0.0)
        return cls(mean, std, KDTree(_standardised(obs, mean, std)))

    def standardise(self, obs: np.ndarray) -> np.ndarray:
        """(s - mean) / std, and 0 where the demonstrations never vary."""
        return _standardised(obs, self.mean, self.std)

    def distance(self, obs: np.ndarray) -> np.ndarray:
        """Distance of each state from the nearest demonstrated one, (n,)."""
        nearest, _ = self.tree.query(self.standardise(obs))
        return nearest / np.sqrt(self.moving)

    @property
    def moving(self) -> int:
        """Number of dimensions that vary."""
        return max(1, int(np.count_nonzero(self.std)))


def _standardised(obs: np.ndarray, mean: np.ndarray, std: np.ndarray) -> np.ndarray:
    safe = np.where(std > 0.0, std, 1.0)
    return np.where(std > 0.0, (np.asarray(obs, np.float64) - mean) / safe, 0.0)


def random_directions(metric: DistanceMetric, count: int, rng: np.random.Generator) -> np.ndarray:
    """Directions (count, o) of length 1 in the units of `DistanceMetric.distance`."""
    noise = rng.standard_normal((count, len(metric.std))) * (metric.std > 0.0)
    length = np.linalg.norm(noise, axis=1, keepdims=True)
    return noise / np.maximum(length, 1e-300) * np.sqrt(metric.moving)


def principal_directions(
    metric: DistanceMetric, obs: np.ndarray, count: int, rng: np.random.Generator
) -> np.ndarray:
    """Directions of the first principal components of the data, each forward or backward."""
    components = principal_components(metric.standardise(obs), COMPONENTS)
    chosen = components[rng.integers(len(components), size=count)]
    return chosen * rng.choice([-1.0, 1.0], (count, 1)) * np.sqrt(metric.moving)


def principal_components(centred: np.ndarray, count: int) -> np.ndarray:
    """The first `count` orthonormal principal components, (count, o), of centred rows."""
    _, _, components = np.linalg.svd(centred, full_matrices=False)
    signs = np.sign(components[np.arange(len(components)), np.abs(components).argmax(1)])
    return (components * signs[:, None])[:count]  # a sign that does not hang on the solver


def displaced(
    metric: DistanceMetric, base: np.ndarray, directions: np.ndarray, distances: Sequence[float]
) -> np.ndarray:
    """Base states (n, o) moved by each distance along their directions: (distances, n, o)."""
    steps = np.asarray(distances)[:, None, None] * (metric.std * directions)
    return (np.asarray(base, np.float64) + steps).astype(np.float32)


def rollout_states(
    envs: Sequence[gym.Env],
    reference: Reference,
    *,
    noise: float,
    episodes: int,
    seed: int,
    advance: Advance = silent,
) -> np.ndarray:
    """States (n, o) that the reference's mean reaches with Gaussian exploration of scale `noise`.

    Every dimension of the action gets noise of its own at each step, as an online policy adds it.
    `advance` counts the steps that all environments take together.
    """
    rng, steps = np.random.default_rng(seed), itertools.count(1)
    dim = action_dim(envs[0])

    def act(rows: np.ndarray) -> np.ndarray:
        advance(next(steps))
        loc = query_mean(reference, rows, dim, "while acting")
        return loc + noise * rng.standard_normal(loc.shape)

    seeds = itertools.islice(episode_seeds(seed, "doctor"), episodes)
    played = rollout(envs, act, seeds)
    return np.concatenate([episode.observations[:-1] for episode in played])
