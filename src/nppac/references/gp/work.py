"""How the work of a fit is divided, so that its progress tells how long it still takes.

A step on 2,000 points takes dozens of times as long as one on 500, and conditioning on all points
may take longer than all steps. So progress counts thousandths of the expected work. The costs are
seconds of one core of the machine that they were measured on; only their ratios matter.
"""

from collections.abc import Callable
from typing import NamedTuple

from nppac.references.gp.config import COARSE_POINTS, DIRECT_POINTS, TRIAL_POINTS, WORK, GPConfig
from nppac.references.gp.kernels import KERNELS
from nppac.utils.progress import Advance
from nppac.utils.threads import thread_count

_STEP, _STEP_PER_POINT3 = 0.04, 4e-10
_CHOLESKY_PER_POINT3 = 1.75e-11
_ITERATIONS, _PRODUCT_PER_POINT2 = 40, 3e-9
"""Of an iterative solution: how many it takes is not known before."""
_FACTOR_SHARE = 0.6
"""Of a direct solution, the part that is the Cholesky factor."""


class Stage(NamedTuple):
    """A part of the work: where it begins and ends in the whole, and the steps it takes at most."""

    start: int
    end: int
    steps: int

    def within(self, advance: Advance) -> Advance:
        """The progress of this part, which counts its own steps."""

        def show(done: int, status: str = "") -> None:
            share = min(done / self.steps, 1.0) if self.steps else 1.0
            advance(self.start + round(share * (self.end - self.start)), status)

        return show


class Stages(NamedTuple):
    """The parts of a fit, in their order; one that there is not has no steps."""

    trials: Stage
    coarse: Stage
    fine: Stage
    condition: Stage


def stages(config: GPConfig, n: int) -> Stages:
    """What share of the work each part is, for n points."""
    threads = thread_count()
    trials = len(KERNELS) * config.trial_steps if config.kernel == "auto" else 0
    fine = config.refine_steps if n > COARSE_POINTS else 0
    first = COARSE_POINTS if fine else config.fit_points
    parts = (
        (trials, _steps(trials, min(n, config.fit_points, TRIAL_POINTS)) / threads),
        (config.steps, _steps(config.steps, min(n, first))),
        (fine, _steps(fine, min(n, config.fit_points))),
        (WORK, _condition(config, n, threads)),
    )
    whole, made, before = sum(cost for _, cost in parts), [], 0.0
    for steps, cost in parts:
        after = before + cost
        made.append(Stage(round(WORK * before / whole), round(WORK * after / whole), steps))
        before = after
    return Stages(*made)


def _steps(count: int, points: int) -> float:
    return count * (_STEP + _STEP_PER_POINT3 * points**3)


def _condition(config: GPConfig, n: int, threads: int) -> float:
    if config.variance_method(n) == "exact":
        return _STEP_PER_POINT3 * n**3
    if n <= DIRECT_POINTS:
        return _CHOLESKY_PER_POINT3 * n**3 / threads
    return _ITERATIONS * _PRODUCT_PER_POINT2 * n**2 / threads


def direct_progress(groups: int, advance: Advance) -> Callable[[int, float], None]:
    """Progress of a direct solution, told by group of outputs and share of its Cholesky factor."""
    return lambda group, share: advance(round(WORK * (group + _FACTOR_SHARE * share) / groups))


def iterative_progress(advance: Advance) -> Advance:
    """Progress of an iterative solution, which counts iterations."""
    return lambda done, status="": advance(min(WORK, WORK * done // _ITERATIONS), status)
