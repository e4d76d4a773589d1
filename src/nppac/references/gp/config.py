"""Settings of a GP reference."""

from dataclasses import dataclass
from typing import Literal

from nppac.references.gp.kernels import KERNELS, KernelName
from nppac.utils.errors import UserError, check_seed, unknown_name

TRIAL_STEPS = 40
"""Steps of each kernel's trial fit when the kernel is chosen automatically."""
COARSE_POINTS = 1000
"""L-BFGS takes its steps on no more points than this..."""
REFINE_STEPS = 10
"""...but for its last, on all that it may; each costs as much as eight on half as many."""
EXACT_POINTS = 2000
"""Up to this many points `variance="auto"` is exact."""
DIRECT_POINTS = 20_000
"""Up to this many points the posterior mean is solved for by a factor of the N x N matrix."""


@dataclass(frozen=True)
class GPConfig:
    """How to fit a GP to demonstrations and how to query it."""

    kernel: KernelName | Literal["auto"] = "auto"
    """Kernel over observations; `auto` takes the one with the highest marginal likelihood."""
    fit_points: int = 1000
    """Hyper-parameters are fitted to at most this many demonstration points, chosen at random."""
    optimiser: Literal["lbfgs", "adam"] = "lbfgs"
    """`lbfgs` is fast; `adam` is the paper's."""
    max_steps: int | None = None
    """Most steps of the optimiser; by default 100 of L-BFGS, or the paper's 500 of Adam."""
    learning_rate: float = 0.1
    """Learning rate of Adam; L-BFGS has none."""
    lengthscale_multiplier: float = 1.0
    """Lengthscales to act with, in units of the fitted ones: longer extrapolates more smoothly."""
    variance: Literal["auto", "exact", "neighbours"] = "auto"
    """Condition variances on all points or on some nearby; `auto` is exact to 2,000 points."""
    neighbours: int = 128
    """Number of points nearby that a variance is conditioned on."""
    scale_is_variance: bool = False
    """Report the variance as the scale, as the authors' released code does, to show its effect."""
    seed: int = 0
    """Seed of the random subset."""

    def __post_init__(self) -> None:
        check_seed(self.seed)
        _check_choice("kernel", self.kernel, (*KERNELS, "auto"))
        _check_choice("optimiser", self.optimiser, ("lbfgs", "adam"))
        _check_choice("variance method", self.variance, ("auto", "exact", "neighbours"))
        for name in (
            "fit_points",
            "neighbours",
            "max_steps",
            "learning_rate",
            "lengthscale_multiplier",
        ):
            value = getattr(self, name)
            if value is not None and not 0 < value < float("inf"):
                raise UserError(f"GPConfig.{name} is {value}; it must be positive and finite.")

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

    @property
    def total_steps(self) -> int:
        """What `fit_gp` counts up to: every optimiser step, and one for conditioning."""
        trials = len(KERNELS) * self.trial_steps if self.kernel == "auto" else 0
        return trials + self.steps + self.refine_steps + 1

    def variance_method(self, points: int) -> Literal["exact", "neighbours"]:
        """The method that `variance` means for that many points."""
        if self.variance == "auto":
            return "exact" if points <= EXACT_POINTS else "neighbours"
        return self.variance


def _check_choice(kind: str, name: str, valid: tuple[str, ...]) -> None:
    if name not in valid:
        raise unknown_name(kind, name, valid)
