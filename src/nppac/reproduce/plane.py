"""A picture's plane through a high-dimensional state space, and the variance over it."""

from dataclasses import dataclass

import numpy as np

from nppac.diagnostics.online import variance_of
from nppac.diagnostics.probes import DistanceMetric, principal_components
from nppac.references.base import Reference

MARGIN = 0.6
"""How far a map reaches beyond the demonstrations, as a part of their extent."""


@dataclass(frozen=True, eq=False)
class Plane:
    """The first two principal components of the standardised demonstrations.

    A point (c1, c2) is the state s = mean + std ∘ (c1 pc1 + c2 pc2).
    """

    mean: np.ndarray
    std: np.ndarray
    components: np.ndarray
    explained: np.ndarray
    """(2,), share of the demonstrations' variance along each component."""

    @classmethod
    def of(cls, obs: np.ndarray) -> "Plane":
        """The plane of demonstrated observations (N, o)."""
        metric = DistanceMetric.of(obs)
        z = metric.standardise(obs)
        components = principal_components(z, 2)
        explained = np.square(z @ components.T).sum(0) / np.square(z).sum()
        return cls(metric.mean, metric.std, components, explained)

    def project(self, obs: np.ndarray) -> np.ndarray:
        """Coordinates (n, 2) of states."""
        safe = np.where(self.std > 0.0, self.std, np.inf)
        return (np.asarray(obs, np.float64) - self.mean) / safe @ self.components.T

    def states(self, points: np.ndarray) -> np.ndarray:
        """The states (n, o) of points (n, 2)."""
        return (self.mean + self.std * (points @ self.components)).astype(np.float32)

    def axes(self, obs: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
        """Coordinates along both components that reach `MARGIN` beyond the demonstrations."""
        shown = self.project(obs)
        low, high = shown.min(0), shown.max(0)
        margin = MARGIN * (high - low)
        first, second = np.linspace(low - margin, high + margin, count).T
        return first, second


def variance_map(
    reference: Reference, plane: Plane, axes: tuple[np.ndarray, np.ndarray]
) -> np.ndarray:
    """Predictive variance, mean over action dimensions, at (c2, c1): rows are the second axis."""
    first, second = np.meshgrid(*axes)
    points = np.stack([first.ravel(), second.ravel()], 1)
    stats = reference(plane.states(points))
    return variance_of(reference.family, stats.scale).mean(-1).reshape(first.shape)
