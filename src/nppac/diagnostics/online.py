"""The KL of an online policy to the reference at a state, and the gradient of log π0 that it meets.

The online policy is hypothetical and the same at every state: π = N(μ0 + shift, scale²) in each
action dimension. It has moved a little away from the reference and still explores. Both quantities
then depend on the reference's scale alone, and both have closed forms.
"""

from dataclasses import dataclass
from math import erf, exp, log, pi, sqrt

import numpy as np

from nppac.types import AnyArray, Family


@dataclass(frozen=True)
class OnlinePolicy:
    """The imagined policy N(μ0 + shift, scale²), alike in each dimension of the action."""

    shift: float = 0.2
    """Distance of its mean from the reference's: a tenth of the range of actions."""
    scale: float = 0.2
    """Its standard deviation, which is also that of the exploration in the doctor's rollouts."""

    @property
    def entropy(self) -> float:
        """Entropy of one dimension: ½ log 2πe σ²."""
        return 0.5 * log(2.0 * pi * exp(1.0) * self.scale**2)

    @property
    def mean_distance(self) -> float:
        """E|a - μ0| = σ √(2/π) exp(-δ²/2σ²) + δ erf(δ/σ√2), in one dimension."""
        ratio = self.shift / self.scale
        folded = self.scale * sqrt(2.0 / pi) * exp(-0.5 * ratio**2)
        return folded + self.shift * erf(ratio / sqrt(2.0))

    @property
    def mean_square(self) -> float:
        """E(a - μ0)² = σ² + δ², in one dimension."""
        return self.scale**2 + self.shift**2


def variance_of(family: Family, scale: AnyArray) -> np.ndarray:
    """Variance of an action: σ0² of a normal, 2b² of a Laplace, w²/3 of a uniform density."""
    square = np.square(scale, dtype=np.float64)
    return square * {"normal": 1.0, "laplace": 2.0, "uniform": 1.0 / 3.0}[family]


def kl_met(family: Family, scale: AnyArray, policy: OnlinePolicy) -> np.ndarray:
    """KL(π ‖ π0) at states where the reference has scales (n, d); shape (n,).

    It is Σ_j [-H(π) - E log π0(a_j)] with -E log π0 = E(a - μ0)²/2σ0² + log σ0 √(2π) for a normal,
    E|a - μ0|/b + log 2b for a Laplace and log 2 for the uniform reference, whose constant density
    is kept outside the box as it is in training.
    """
    scale = np.asarray(scale, np.float64)
    if family == "normal":
        cross = policy.mean_square / (2.0 * scale**2) + np.log(scale * sqrt(2.0 * pi))
    elif family == "laplace":
        cross = policy.mean_distance / scale + np.log(2.0 * scale)
    else:
        cross = np.full_like(scale, log(2.0))
    return (cross - policy.entropy).sum(-1)


def gradient_met(family: Family, scale: AnyArray, policy: OnlinePolicy) -> np.ndarray:
    """Root mean square of ‖∇_a log π0(a|s)‖ over a ~ π at each state; shape (n,).

    For a normal √Σ_j (σ² + δ²)/σ0_j⁴, for a Laplace √Σ_j 1/b_j² whatever the action is, and 0 for
    the uniform reference.
    """
    scale = np.asarray(scale, np.float64)
    if family == "normal":
        return np.sqrt(policy.mean_square * (scale**-4).sum(-1))
    if family == "laplace":
        return np.sqrt((scale**-2).sum(-1))
    return np.zeros(scale.shape[:-1])
