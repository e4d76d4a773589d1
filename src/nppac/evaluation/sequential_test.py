"""A sequential paired test of whether one policy is better than another, at any stopping time.

Both policies act in the same episodes. D_i is the difference of their scores in episode i. If the
policies are equally good, D_i is as likely to be d as -d, and for every λ > 0

    E_n(λ) = exp(λ S_n - λ² V_n / 2),    S_n = Σ D_i,   V_n = Σ D_i²,

is a non-negative supermartingale that starts at 1 (de la Peña, 1999), whatever the scale or the
tails of the differences. So is its average over λ with a half-normal density of scale ρ. By
Ville's inequality it exceeds 1/α at *any* time with a probability of at most α: one may look after
every episode and stop when one likes.

With scores of 0 and 1 the same holds whenever the challenger is no better on average. With other
scores it holds if D is symmetric about a number that is not positive; a challenger whose mean is
lower but whose rare wins are huge is not covered.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass

from scipy.special import log_ndtr

EXPECTED_WINS = 20.0
"""Number of differences at which the test is most sensitive: ρ² = 1/20 in their unit."""


@dataclass(frozen=True)
class PairedTest:
    """The evidence so far that the challenger is better than the incumbent."""

    sum: float = 0.0
    """S = Σ D."""
    sum_of_squares: float = 0.0
    """V = Σ D²."""
    episodes: int = 0
    unit: float = 0.0
    """Typical size of a difference, to which λ is scaled; by default that of the first one.

    The first one's size may be used because its sign is not. A poor unit costs power, not validity.
    """

    def updated(self, differences: Iterable[float]) -> "PairedTest":
        """The test after more pairs of episodes, in their order."""
        total, squares, unit, count = self.sum, self.sum_of_squares, self.unit, self.episodes
        for difference in differences:
            if not math.isfinite(difference):
                raise ValueError(f"a difference of scores is {difference}")
            total, squares, count = total + difference, squares + difference**2, count + 1
            unit = unit or abs(difference)
        return PairedTest(total, squares, count, unit)

    @property
    def log_e_value(self) -> float:
        """log ∫ E_n(λ) 2 N(λ; 0, ρ²) dλ over λ > 0, with ρ in units of the differences.

        With v = V + 1/ρ² the integral is 2 Φ(S/√v) exp(S²/2v) / (ρ √v).
        """
        if not self.unit:
            return 0.0
        s, v = self.sum / self.unit, self.sum_of_squares / self.unit**2 + EXPECTED_WINS
        bound = math.log(2.0) + float(log_ndtr(s / math.sqrt(v)))
        return bound + s * s / (2.0 * v) + 0.5 * math.log(EXPECTED_WINS / v)

    def is_better(self, error_rate: float) -> bool:
        """Whether equality is rejected at this error rate."""
        return self.log_e_value >= -math.log(error_rate)

    @property
    def mean(self) -> float:
        """Mean difference so far."""
        return self.sum / self.episodes if self.episodes else 0.0


def error_rate_of(challenge: int, error_rate: float) -> float:
    """The error rate of challenge 1, 2, 3, ...: together they amount to no more than `error_rate`.

    α_k = α 6 / (π k)², whose sum over all k is α.
    """
    return error_rate * 6.0 / (math.pi * challenge) ** 2
