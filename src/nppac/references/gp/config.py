"""Settings of a GP reference."""

from collections.abc import Mapping
from typing import Literal

from nppac.references.gp.kernels import KernelName
from nppac.utils.settings import Count, Positive, Seed, settings

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

_RENAMED = {"stretch": "lengthscale_multiplier"}


@settings
class GPConfig:
    """How to fit a GP to demonstrations and how to query it."""

    kernel: Literal[KernelName, "auto"] = "auto"
    """Kernel over observations; `auto` takes the one with the highest marginal likelihood."""
    fit_points: Count = 1000
    """Hyper-parameters are fitted to at most this many demonstration points, chosen at random."""
    optimiser: Literal["lbfgs", "adam"] = "lbfgs"
    """`lbfgs` is fast; `adam` is the paper's."""
    max_steps: Count | None = None
    """Most steps of the optimiser; by default 100 of L-BFGS, or the paper's 500 of Adam."""
    learning_rate: Positive = 0.1
    """Learning rate of Adam; L-BFGS has none."""
    lengthscale_multiplier: Positive = 1.0
    """Lengthscales to act with, in units of the fitted ones: longer extrapolates more smoothly."""
    variance: Literal["auto", "exact", "neighbours"] = "auto"
    """Condition variances on all points or on some nearby; `auto` is exact to 2,000 points."""
    neighbours: Count = 128
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
    return {_RENAMED.get(name, name): value for name, value in fields.items()}
