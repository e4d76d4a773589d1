"""Statistics of few runs: interquartile means, bootstrap intervals, profiles, steps to a threshold.

Every function takes arrays and returns numbers; none knows a file or a figure. Scores are (n, m): n
runs by m tasks, or n runs by m evaluations. All intervals are percentile bootstrap intervals over
runs, and the same seed gives the same interval. One run has no interval: its ends are NaN.

The measures are those of Agarwal et al., "Deep Reinforcement Learning at the Edge of the
Statistical Precipice" (2021).
"""

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from scipy.special import ndtri

CONFIDENCE = 0.95
RESAMPLES = 2_000
HOLD = 3
"""Evaluations in a row for which a threshold must be held to count as reached."""

Statistic = Callable[[np.ndarray], np.ndarray]
"""A summary over the last axis."""


class Interval(NamedTuple):
    """An estimate and the ends of its interval."""

    estimate: float
    low: float
    high: float


class Band(NamedTuple):
    """Estimates and intervals at m points."""

    centre: Float[np.ndarray, "m"]
    low: Float[np.ndarray, "m"]
    high: Float[np.ndarray, "m"]


class ThresholdSteps(NamedTuple):
    """How many runs reached a threshold, and the median number of steps that it took all of them.

    A run that never reached it took infinitely many, so the median of a minority is infinite.
    """

    share: float
    median: Interval


def interquartile_mean(values: Float[np.ndarray, "*batch n"]) -> Float[np.ndarray, "*batch"]:
    """The mean over the last axis without its lowest and highest ⌊n/4⌋ values."""
    n = values.shape[-1]
    cut = n // 4
    if cut == 0:
        return np.asarray(values.mean(-1))
    middle = np.partition(values, (cut, n - cut - 1), axis=-1)[..., cut : n - cut]
    return np.asarray(middle.mean(-1))


def bootstrap_interval(
    scores: Float[np.ndarray, "n m"],
    statistic: Statistic = interquartile_mean,
    *,
    seed: int = 0,
    resamples: int = RESAMPLES,
    confidence: float = CONFIDENCE,
) -> Interval:
    """The statistic of all scores; each resample draws the runs of every task apart."""
    n, m = scores.shape
    estimate = float(statistic(scores.reshape(-1)))
    if n == 1:
        return Interval(estimate, math.nan, math.nan)
    rows = np.random.default_rng(seed).integers(n, size=(resamples, n, m))
    samples = statistic(scores[rows, np.arange(m)].reshape(resamples, n * m))
    low, high = _ends(samples, confidence)
    return Interval(estimate, float(low), float(high))


def mean_interval(values: Float[np.ndarray, "n"], confidence: float = CONFIDENCE) -> Interval:
    """The mean of some episodes and its percentile bootstrap interval."""
    return bootstrap_interval(values[:, None], lambda x: np.mean(x, axis=-1), confidence=confidence)


def normal_interval(
    mean: float, deviation: float, count: int, confidence: float = CONFIDENCE
) -> Interval:
    """The mean of so many episodes and its interval by the normal approximation."""
    half = float(ndtri(0.5 + 0.5 * confidence)) * deviation / math.sqrt(count)
    return Interval(mean, mean - half, mean + half)


def share_interval(share: float, count: int, confidence: float = CONFIDENCE) -> Interval:
    """A share of so many episodes and its Wilson interval, which is sound near 0 and 1 too."""
    z = float(ndtri(0.5 + 0.5 * confidence))
    centre = (share + z * z / (2 * count)) / (1 + z * z / count)
    half = z * math.sqrt(share * (1 - share) / count + (z / (2 * count)) ** 2) / (1 + z * z / count)
    return Interval(share, max(0.0, centre - half), min(1.0, centre + half))


def sample_efficiency(
    scores: Float[np.ndarray, "n m"],
    statistic: Statistic = interquartile_mean,
    *,
    seed: int = 0,
    resamples: int = RESAMPLES,
    confidence: float = CONFIDENCE,
) -> Band:
    """The statistic over runs at each of m evaluations; a resample draws whole runs."""
    n, m = scores.shape
    centre = statistic(np.ascontiguousarray(scores.T))
    if n == 1 or m == 0:
        unknown = np.full(m, math.nan)
        return Band(centre, unknown, unknown)
    rows = np.random.default_rng(seed).integers(n, size=(resamples, n))
    low, high = np.transpose(
        [_ends(statistic(scores[:, j][rows]), confidence) for j in range(m)]
    )  # a column at a time, because all of them at once may not fit in memory
    return Band(centre, low, high)


def performance_profile(
    scores: Float[np.ndarray, "n m"],
    thresholds: Float[np.ndarray, "few"],
    *,
    seed: int = 0,
    resamples: int = RESAMPLES,
    confidence: float = CONFIDENCE,
) -> Band:
    """The share of runs that score above each threshold, as a mean over tasks."""
    n, m = scores.shape
    above = (scores[:, :, None] > thresholds).astype(float)
    centre = above.mean((0, 1))
    if n == 1:
        unknown = np.full(len(thresholds), math.nan)
        return Band(centre, unknown, unknown)
    generator = np.random.default_rng(seed)
    samples = np.mean(
        [_shares(generator, n, resamples) @ above[:, task] for task in range(m)], axis=0
    )
    low, high = _ends(samples, confidence)
    return Band(centre, low, high)


def probability_of_improvement(
    ours: Float[np.ndarray, "n m"],
    theirs: Float[np.ndarray, "k m"],
    *,
    seed: int = 0,
    resamples: int = RESAMPLES,
    confidence: float = CONFIDENCE,
) -> Interval:
    """P(X > Y) + ½ P(X = Y) for a run X of ours and a run Y of theirs, as a mean over tasks."""
    wins = (ours[:, None] > theirs) + 0.5 * (ours[:, None] == theirs)  # (n, k, m)
    (n, k, m), generator = wins.shape, np.random.default_rng(seed)
    estimate = float(wins.mean())
    if n == 1 and k == 1:
        return Interval(estimate, math.nan, math.nan)
    samples = np.zeros(resamples)
    for task in range(m):
        left, right = (_shares(generator, count, resamples) for count in (n, k))
        samples += np.sum(left @ wins[:, :, task] * right, axis=1) / m
    low, high = _ends(samples, confidence)
    return Interval(estimate, float(low), float(high))


def steps_to_threshold(
    steps: Float[np.ndarray, "m"],
    values: Float[np.ndarray, "m"],
    threshold: float,
    hold: int = HOLD,
) -> float:
    """The first evaluation from which a run holds the threshold; infinite if there is none.

    It must hold for `hold` evaluations, or to the end where fewer remain.
    """
    above = values >= threshold
    held = above.copy()
    for later in range(1, min(hold, len(above))):
        held[:-later] &= above[later:]
    return float(steps[np.argmax(held)]) if held.any() else math.inf


def median_steps(
    times: Float[np.ndarray, "n"],
    *,
    seed: int = 0,
    resamples: int = RESAMPLES,
    confidence: float = CONFIDENCE,
) -> ThresholdSteps:
    """Share of runs that reached a threshold, and median of all runs' steps to it.

    Runs that did not reach it count as infinite, which also the ends of the interval may be.
    """
    median = bootstrap_interval(
        times[:, None],
        lambda values: np.median(values, axis=-1),
        seed=seed,
        resamples=resamples,
        confidence=confidence,
    )
    return ThresholdSteps(float(np.isfinite(times).mean()), median)


def _shares(
    generator: np.random.Generator, n: int, resamples: int
) -> Float[np.ndarray, "samples runs"]:
    """How much of each resample each of n runs makes up."""
    return generator.multinomial(n, np.full(n, 1 / n), size=resamples) / n


def _ends(samples: np.ndarray, confidence: float) -> tuple[np.ndarray, np.ndarray]:
    """Both ends of the middle `confidence` of samples along the first axis.

    They are samples themselves: interpolation would make NaN out of an infinite one.
    """
    tail, last = (1 - confidence) / 2, len(samples) - 1
    lower, upper = math.floor(tail * last), math.ceil((1 - tail) * last)
    ordered = np.partition(samples, (lower, upper), axis=0)
    return np.asarray(ordered[lower]), np.asarray(ordered[upper])
