"""The reference as a function of distance from the data."""

from dataclasses import dataclass

import numpy as np

from nppac.diagnostics.online import OnlinePolicy, gradient_met, kl_met, variance_of
from nppac.types import Family, ReferenceStats


@dataclass(frozen=True, eq=False)
class Measured:
    """What was measured at each of n states, all (n,)."""

    distance: np.ndarray
    variance: np.ndarray
    """Mean over action dimensions of the predictive variance."""
    harmonic_mean_variance: np.ndarray
    """Harmonic mean over action dimensions: small where any dimension's variance is. The KL and
    the gradient grow with its inverse, so that it is the variance that training feels."""
    kl: np.ndarray
    gradient: np.ndarray

    def __len__(self) -> int:
        return len(self.distance)

    def where(self, chosen: np.ndarray) -> "Measured":
        """The states of a mask (n,)."""
        return Measured(
            self.distance[chosen],
            self.variance[chosen],
            self.harmonic_mean_variance[chosen],
            self.kl[chosen],
            self.gradient[chosen],
        )

    def beyond(self, distance: float) -> "Measured":
        """The states that are at least so far from the data."""
        return self.where(self.distance >= distance)


@dataclass(frozen=True)
class Point:
    """Medians over the states at about one distance, and the middle 80 % of the variance."""

    distance: float
    states: int
    variance: float
    variance_low: float
    variance_high: float
    harmonic_mean_variance: float
    kl: float
    gradient: float


def measure(
    family: Family, stats: ReferenceStats, distance: np.ndarray, policy: OnlinePolicy
) -> Measured:
    """Variance, KL and gradient from the reference's statistics at states of known distance."""
    variance = variance_of(family, stats.scale)
    return Measured(
        distance=distance,
        variance=variance.mean(-1),
        harmonic_mean_variance=1.0 / (1.0 / variance).mean(-1),
        kl=kl_met(family, stats.scale, policy),
        gradient=gradient_met(family, stats.scale, policy),
    )


def summarise_states(measured: Measured) -> Point:
    """One point of a profile."""
    low, high = np.quantile(measured.variance, (0.1, 0.9))
    return Point(
        distance=float(np.median(measured.distance)),
        states=len(measured),
        variance=float(np.median(measured.variance)),
        variance_low=float(low),
        variance_high=float(high),
        harmonic_mean_variance=float(np.median(measured.harmonic_mean_variance)),
        kl=float(np.median(measured.kl)),
        gradient=float(np.median(measured.gradient)),
    )


def variance_profile(measured: Measured, edges: np.ndarray, least: int = 1) -> tuple[Point, ...]:
    """One point for each interval [edge, next edge) that holds at least so many states."""
    place = np.digitize(measured.distance, edges)
    groups = [measured.where(place == i) for i in range(1, len(edges))]
    return tuple(summarise_states(group) for group in groups if len(group) >= least)
