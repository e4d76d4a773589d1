"""How far a fit has come, told so that the time that is left can be computed from it.

A step on 2,000 points takes dozens of times as long as one on 500, and conditioning on all points
may take longer than all steps. So progress counts thousandths of the work. Work that falls away,
because an optimiser converges early, is not counted as done: it would look as if it had been fast.
The costs are seconds of one core of the machine they were measured on; only their ratios matter.
"""

from typing import Literal, NamedTuple

from nppac.references.gp.config import COARSE_POINTS, DIRECT_POINTS, TRIAL_POINTS, WORK, GPConfig
from nppac.references.gp.kernels import KERNELS
from nppac.utils.progress import Advance, silent
from nppac.utils.threads import thread_count

_STEP, _STEP_PER_POINT3 = 0.04, 4e-10
_CHOLESKY_PER_POINT3 = 1.75e-11
_ITERATIONS, _PRODUCT_PER_POINT2 = 40, 3e-9
"""Of an iterative solution: how many it takes is not known before."""
_FACTOR_SHARE, _DIRECT_ITERATIONS = 0.6, 20
"""Of a direct solution: the part that is the Cholesky factor, and the iterations of the rest."""

StageName = Literal["trials", "coarse", "fine", "condition"]


class Stage(NamedTuple):
    """A part of the work: the steps that it takes at most, and what they cost."""

    steps: int
    cost: float


def stages(config: GPConfig, n: int) -> dict[StageName, Stage]:
    """The parts of a fit to n points, in their order; one that there is not has no steps."""
    threads = thread_count()
    trials = len(KERNELS) * config.trial_steps if config.kernel == "auto" else 0
    fine = config.refine_steps if n > COARSE_POINTS else 0
    first = COARSE_POINTS if fine else config.fit_points
    return {
        "trials": Stage(trials, _steps(trials, min(n, config.fit_points, TRIAL_POINTS)) / threads),
        "coarse": Stage(config.steps, _steps(config.steps, min(n, first))),
        "fine": Stage(fine, _steps(fine, min(n, config.fit_points))),
        "condition": Stage(WORK, _condition(config, n, threads)),
    }


class FitWork:
    """The work of one fit, as far as it has come; `advance` counts to `WORK`."""

    def __init__(self, config: GPConfig, n: int, advance: Advance = silent):
        self.stages, self._advance = stages(config, n), advance
        self._left: list[StageName] = [*self.stages]
        self._spent = 0.0

    def begin(self, name: StageName) -> Advance:
        """The progress of a part, which counts its own steps; parts before it are over."""
        stage, before = self.stages[name], self._spent
        self._left = self._left[self._left.index(name) + 1 :]
        later = sum(self.stages[other].cost for other in self._left)

        def show(done: int, status: str = "") -> None:
            share = min(done / stage.steps, 1.0) if stage.steps else 1.0
            self._spent = before + share * stage.cost
            whole = before + stage.cost + later
            self._advance(int(WORK * self._spent / whole), status)

        return show


def _steps(count: int, points: int) -> float:
    return count * (_STEP + _STEP_PER_POINT3 * points**3)


def _condition(config: GPConfig, n: int, threads: int) -> float:
    if config.variance_method(n) == "exact":
        return _STEP_PER_POINT3 * n**3
    if n <= DIRECT_POINTS:
        return _CHOLESKY_PER_POINT3 * n**3 / threads
    return _ITERATIONS * _PRODUCT_PER_POINT2 * n**2 / threads


class DirectProgress(NamedTuple):
    """Progress of a direct solution of so many groups of outputs."""

    groups: int
    group: int
    advance: Advance

    def factorised(self, share: float) -> None:
        """Told the share of the group's Cholesky factor that is there."""
        self._show(_FACTOR_SHARE * share)

    def iterated(self, count: int) -> None:
        """Told the number of iterations since."""
        share = min(1.0, count / _DIRECT_ITERATIONS)
        self._show(_FACTOR_SHARE + (1.0 - _FACTOR_SHARE) * share)

    def _show(self, share: float) -> None:
        self.advance(round(WORK * (self.group + share) / self.groups))


def iterative_progress(advance: Advance) -> Advance:
    """Progress of an iterative solution, which counts iterations."""
    return lambda done, status="": advance(min(WORK, WORK * done // _ITERATIONS), status)
