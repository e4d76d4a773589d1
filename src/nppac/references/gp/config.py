"""Settings of a GP reference, and how far a fit with them has come.

A step on 2,000 points takes dozens of times as long as one on 500, and conditioning on all points
may take longer than all steps. So progress counts thousandths of the work. Work that falls away,
because an optimiser converges early, is not counted as done: it would look as if it had been fast.
The costs are seconds of one core of the machine they were measured on; only their ratios matter.
"""

from collections.abc import Mapping
from typing import Annotated, Literal, NamedTuple

from pydantic import Field

from nppac.references.gp.kernels import KERNELS, KernelName
from nppac.utils.progress import Advance, silent
from nppac.utils.settings import Positive, Seed, Size, settings
from nppac.utils.threads import thread_count

TRIAL_STEPS = 40
"""Steps of each kernel's trial fit when the kernel is chosen automatically."""
TRIAL_POINTS = 500
"""Most points of such a trial."""
COARSE_POINTS = 1000
"""L-BFGS takes its steps on at most this many points..."""
REFINE_STEPS = 10
"""...except for these last ones, on all `fit_points`: twice the points cost eight times as much."""
EXACT_POINTS = 2000
"""Up to this many points `variance="auto"` is exact."""
DIRECT_POINTS = 20_000
"""Up to this many points the posterior mean is solved for with an N x N matrix in memory."""
WORK = 1000
"""What the progress of a fit counts up to, whatever its settings: thousandths of the work."""
NOISE_FLOOR = 1e-4
"""Least noise variance of an action, as in the authors' code: actions live in [-1, 1]."""

_STEP, _STEP_PER_POINT3 = 0.04, 4e-10
_CHOLESKY_PER_POINT3 = 1.75e-11
_ITERATIONS, _PRODUCT_PER_POINT2 = 40, 3e-9
"""Of an iterative solution: how many it takes is not known before."""
_FACTOR_SHARE, _DIRECT_ITERATIONS = 0.6, 20
"""Of a direct solution: the part that is the Cholesky factor, and the iterations of the rest."""

StageName = Literal["trials", "coarse", "fine", "condition"]

GP_NAMES = {"stretch": "lengthscale_multiplier"}
"""Settings under their older names."""


@settings
class GPConfig:
    """How to fit a GP to demonstrations and how to query it."""

    kernel: Literal[KernelName, "auto"] = "auto"
    """Kernel over observations; `auto` takes the one with the highest marginal likelihood."""
    fit_points: Size = 1000
    """Hyper-parameters are fitted to at most this many demonstration points, chosen at random."""
    optimiser: Literal["lbfgs", "adam"] = "lbfgs"
    """`lbfgs` is fast; `adam` is the paper's."""
    max_steps: Size | None = None
    """Most steps of the optimiser; by default 100 of L-BFGS, or the paper's 500 of Adam."""
    learning_rate: Positive = 0.1
    """Learning rate of Adam; L-BFGS has none."""
    lengthscale_multiplier: Positive = 1.0
    """Lengthscales to act with, in units of the fitted ones: longer extrapolates more smoothly."""
    variance: Literal["auto", "exact", "neighbours"] = "auto"
    """Condition variances on all points or on some nearby; `auto` is exact to 2,000 points."""
    neighbours: Annotated[Size, Field(le=10_000)] = 128
    """Number of points nearby that a variance is conditioned on."""
    scale_is_variance: bool = False
    """Report the variance as the scale, as the authors' released code does, to show its effect."""
    seed: Seed = 0
    """Seed of the random subset."""

    @property
    def steps(self) -> int:
        """Most steps of the optimiser, with its default filled in."""
        return self.max_steps or (100 if self.optimiser == "lbfgs" else 500)

    @property
    def trial_steps(self) -> int:
        """Most steps of each kernel's trial."""
        return min(self.steps, TRIAL_STEPS)

    @property
    def refine_steps(self) -> int:
        """Most steps on all of `fit_points` after those on fewer; the paper's Adam has none."""
        refines = self.optimiser == "lbfgs" and self.fit_points > COARSE_POINTS
        return min(self.steps, REFINE_STEPS) if refines else 0

    def variance_method(self, points: int) -> Literal["exact", "neighbours"]:
        """The method that `variance` means for that many points."""
        if self.variance == "auto":
            return "exact" if points <= EXACT_POINTS else "neighbours"
        return self.variance


def migrate_gp_settings(fields: Mapping[str, object]) -> dict[str, object]:
    """The same settings under their present names; older files call some of them otherwise."""
    return {GP_NAMES.get(name, name): value for name, value in fields.items()}


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
