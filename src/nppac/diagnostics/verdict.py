"""From numbers to words: healthy, flat, collapses, exploding, narrow or broken."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from nppac.diagnostics.profile import Measured, Point

Verdict = Literal["healthy", "flat", "collapses", "exploding", "broken", "narrow"]

EXIT_CODES: dict[Verdict, int] = {
    "healthy": 0,
    "flat": 3,
    "collapses": 4,
    "exploding": 5,
    "broken": 6,
    "narrow": 7,
}
"""What a process should end with; 1 and 2 stay for mistakes in what the program was given."""


@dataclass(frozen=True)
class Thresholds:
    """Where one verdict ends and the next begins."""

    off_data: float = 1.0
    """A displaced state is off the data from this distance on, in standard deviations."""
    off_data_rollout: float = 0.5
    """A state of a rollout is off the data from this distance to the nearest demonstration on."""
    fewest_states: int = 20
    """Rollouts that leave the data in fewer states than this are not judged."""
    dip: float = 0.5
    """From this distance on the variance must not fall at any one distance, in those units."""
    growth: float = 2.0
    """Healthy: off the data the variance is at least so many times that on it, along every way."""
    tolerance: float = 0.02
    """Collapses: off the data it is below (1 - tolerance) times that on it, along any way."""
    variance: float = 1e-4
    """Exploding off the data, narrow on it: the variance is below this."""
    gradient: float = 1e3
    """Exploding off the data, narrow on it: the median ‖∇ log π0‖ is above this."""


@dataclass(frozen=True)
class OffData:
    """One way off the data, against the demonstrated states."""

    states: int
    variance: float
    ratio: float
    """Median variance off the data over median variance on it."""
    harmonic_mean_ratio: float
    """The same for the harmonic mean over action dimensions, which the KL feels."""
    share_below: float
    """Share of the off-data states whose variance is below the median on the data."""
    kl: float
    gradient: float

    @property
    def worst(self) -> float:
        """The smaller of the two ratios: one tight action dimension is enough to do harm."""
        return min(self.ratio, self.harmonic_mean_ratio)


class Dip(NamedTuple):
    """Where along one way the variance is least, and what it is there against that on the data."""

    distance: float
    ratio: float


def deepest(on: Point, points: Sequence[Point], limits: Thresholds) -> Dip:
    """The least ratio at any one distance; growth farther out must not hide a dip near the data."""
    away = [point for point in points if point.distance >= limits.dip]
    ratios = [
        min(p.variance / on.variance, p.harmonic_mean_variance / on.harmonic_mean_variance)
        for p in away
    ]
    least = int(np.argmin(ratios))
    return Dip(away[least].distance, ratios[least])


def compare_with_data(on: Measured, off: Measured) -> OffData:
    """Medians of what lies off the data against those on it."""
    return OffData(
        states=len(off),
        variance=float(np.median(off.variance)),
        ratio=_ratio(off.variance, on.variance),
        harmonic_mean_ratio=_ratio(off.harmonic_mean_variance, on.harmonic_mean_variance),
        share_below=float(np.mean(off.variance < np.median(on.variance) * (1.0 - 1e-6))),
        kl=float(np.median(off.kl)),
        gradient=float(np.median(off.gradient)),
    )


def _ratio(off: np.ndarray, on: np.ndarray) -> float:
    return float(np.median(off) / np.median(on))


def judge(
    on: Point, ways: Mapping[str, OffData], limits: Thresholds, dips: Mapping[str, Dip]
) -> tuple[Verdict, str]:
    """The verdict on the worst way off the data, with the numbers behind it in a sentence.

    What happens off the data is judged first: growth there does not help a reference that is too
    narrow on the data itself, so that this comes next.
    """
    steepest = max(ways.values(), key=lambda way: way.gradient)
    if steepest.gradient > limits.gradient or _least_variance(ways) < limits.variance:
        return "exploding", _exploding(ways, steepest, limits)
    if on.gradient > limits.gradient or on.variance < limits.variance:
        return "narrow", _narrow(on, limits)
    return _judge_growth(ways, limits, dips)


def _judge_growth(
    ways: Mapping[str, OffData], limits: Thresholds, dips: Mapping[str, Dip]
) -> tuple[Verdict, str]:
    worst = min(ways, key=lambda name: ways[name].worst)
    way, numbers = ways[worst], _ratios(ways)
    if way.worst < 1.0 - limits.tolerance:
        return "collapses", (
            f"Off the data the variance falls (worst: {worst}): it is {numbers} that on the "
            f"data, and smaller than there in {way.share_below:.0%} of the states of the worst "
            "way. The reference is surest where it knows least, and pulls an online policy there."
        )
    lowest = min(dips, key=lambda name: dips[name].ratio)
    if dips[lowest].ratio < 1.0 - limits.tolerance:
        distance, ratio = dips[lowest]
        return "collapses", (
            f"The variance dips: {distance:g} standard deviations off the data ({lowest}) it is "
            f"{ratio:.2g} times that on it, though over all distances it is {numbers}. An online "
            "policy that comes there meets a reference that is too sure."
        )
    if way.worst < limits.growth:
        return "flat", (
            f"Off the data the variance grows too little (worst: {worst}): it is {numbers} that "
            f"on the data, where {limits.growth:g} times or more along every way is healthy. The "
            "reference does not say clearly where it knows nothing."
        )
    return "healthy", f"Off the data the variance grows: it is {numbers} that on the data."


def _narrow(on: Point, limits: Thresholds) -> str:
    return (
        f"On the data itself the variance is {on.variance:.2g}, and an online policy that has "
        f"moved a little meets a KL of {on.kl:.3g} nats and a gradient of {on.gradient:.3g} "
        f"(medians; a gradient above {limits.gradient:g} is beyond use). It can hardly move away "
        "from the reference. A demonstrator without noise has this effect: raise the noise floor "
        "or the variance floor, or lower the temperature."
    )


def _ratios(ways: Mapping[str, OffData]) -> str:
    """For instance: 12 (random), 11 (principal) and 3.8 (rollout) times; the smaller ratios."""
    each = [f"{way.worst:.2g} ({name})" for name, way in ways.items()]
    return " and ".join(filter(None, (", ".join(each[:-1]), each[-1]))) + " times"


def _least_variance(ways: Mapping[str, OffData]) -> float:
    return min(way.variance for way in ways.values())


def _exploding(ways: Mapping[str, OffData], steepest: OffData, limits: Thresholds) -> str:
    return (
        f"Off the data the variance is down to {_least_variance(ways):.2g}, and an online policy "
        f"meets a KL of up to {steepest.kl:.3g} nats and a gradient of up to "
        f"{steepest.gradient:.3g} (medians). Beyond a gradient of {limits.gradient:g}, or below a "
        f"variance of {limits.variance:g}, training diverges or stands still."
    )
