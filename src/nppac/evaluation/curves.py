"""Learning curves: a column of `metrics.csv` against environment steps, over runs of one kind."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from nppac.evaluation.metrics import EPISODES, RETURN, RETURN_STD
from nppac.evaluation.statistics import (
    RESAMPLES,
    Band,
    normal_interval,
    sample_efficiency,
    share_interval,
)

Metrics = Mapping[str, np.ndarray]
"""The columns of a run's `metrics.csv`."""


class Curve(NamedTuple):
    """Interquartile mean over runs and its interval, at the steps that all of them measured."""

    steps: Float[np.ndarray, "m"]
    centre: Float[np.ndarray, "m"]
    low: Float[np.ndarray, "m"]
    high: Float[np.ndarray, "m"]
    runs: int
    """How many runs measured the column at all."""


def measured(run: Metrics, column: str) -> tuple[np.ndarray, np.ndarray]:
    """Steps and values where a run measured a column."""
    known = np.isfinite(run[column])
    return run["env_steps"][known], run[column][known]


def episode_band(run: Metrics, column: str) -> Band | None:
    """The 95 % interval of each evaluation over its episodes, where their number is known."""
    if EPISODES not in run or not column.startswith("eval_"):
        return None
    known = np.isfinite(run[column]) & np.isfinite(run[EPISODES])
    values, counts = run[column][known].tolist(), run[EPISODES][known].astype(int).tolist()
    if column == RETURN:
        deviations = run[RETURN_STD][known].tolist()
        found = list(map(normal_interval, values, deviations, counts))
    else:
        found = list(map(share_interval, values, counts))
    return Band(*np.array(found, float).reshape(-1, 3).T)


def learning_curve(
    runs: Sequence[Metrics],
    column: str,
    *,
    at_most: int | None = None,
    resamples: int = RESAMPLES,
) -> Curve:
    """The curve of runs of one kind; `at_most` so many points of it, evenly chosen."""
    pairs = [measured(run, column) for run in runs]
    pairs = [(steps, values) for steps, values in pairs if len(steps)]
    if not pairs:
        none = np.zeros(0)
        return Curve(none, none, none, none, 0)
    shared = np.unique(pairs[0][0])
    for steps, _ in pairs[1:]:
        shared = np.intersect1d(shared, steps)
    if at_most is not None and len(shared) > at_most:
        shared = shared[np.linspace(0, len(shared) - 1, at_most).round().astype(int)]
    scores = np.array([_values_at(shared, *pair) for pair in pairs])
    return Curve(shared, *sample_efficiency(scores, resamples=resamples), runs=len(pairs))


def _values_at(shared: np.ndarray, steps: np.ndarray, values: np.ndarray) -> np.ndarray:
    known, first = np.unique(steps, return_index=True)
    return values[first[np.searchsorted(known, shared)]]
