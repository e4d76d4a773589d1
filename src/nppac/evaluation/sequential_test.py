"""A sequential paired test of whether one policy is better than another, at any stopping time.

Both policies act in the same episodes. D_i is the difference of their scores in episode i. If the
policies are equally good, D_i is as likely to be d as -d, and for every λ > 0

    E_n(λ) = Π_i (1 + tanh(λ D_i))

is a non-negative martingale that starts at 1, whatever the scale or the tails of the differences:
the factors of d and -d add up to 2. It is the wealth of somebody who bets on the challenger, and
stakes the more on an episode the larger its difference is. The average over several λ is such a
martingale too. By Ville's inequality it exceeds 1/α at *any* time with a probability of at most α:
one may look after every episode and stop when one likes.

With scores of 0 and 1 the same holds whenever the challenger is no better on average. With other
scores it holds if D is symmetric about a number that is not positive, because the factor grows with
D; a challenger whose mean is lower but whose rare wins are huge is not covered.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass

STAKES = (0.1, 0.25, 0.6, 1.5)
"""λ in units of a typical difference: small ones find a small steady gain, large ones rare falls
that only one of the policies avoids."""


@dataclass(frozen=True)
class PairedTest:
    """The evidence so far that the challenger is better than the incumbent."""

    sum: float = 0.0
    """Σ D."""
    log_wealths: tuple[float, ...] = (0.0,) * len(STAKES)
    """log E_n(λ) for each of the stakes."""
    episodes: int = 0
    unit: float = 0.0
    """Typical size of a difference, to which λ is scaled; by default that of the first one.

    The first one's size may be used because its sign is not. A poor unit costs power, not validity.
    """

    def updated(self, differences: Iterable[float]) -> "PairedTest":
        """The test after more pairs of episodes, in their order."""
        total, wealths, unit, count = self.sum, self.log_wealths, self.unit, self.episodes
        for difference in map(float, differences):
            if not math.isfinite(difference):
                raise ValueError(f"a difference of scores is {difference}")
            total, count, unit = total + difference, count + 1, unit or abs(difference)
            if difference:
                gains = (_log_factor(stake * difference / unit) for stake in STAKES)
                wealths = tuple(map(sum, zip(wealths, gains, strict=True)))
        return PairedTest(total, wealths, count, unit)

    @property
    def log_e_value(self) -> float:
        """The logarithm of the mean of E_n(λ) over the stakes."""
        largest = max(self.log_wealths)
        ratios = [math.exp(wealth - largest) for wealth in self.log_wealths]
        return largest + math.log(sum(ratios) / len(ratios))

    def is_better(self, error_rate: float) -> bool:
        """Whether equality is rejected at this error rate."""
        return self.log_e_value >= -math.log(error_rate)

    @property
    def mean(self) -> float:
        """Mean difference so far."""
        return self.sum / self.episodes if self.episodes else 0.0


def _log_factor(x: float) -> float:
    """log(1 + tanh x) = log 2 - log(1 + exp(-2x)), for an x of any size."""
    return math.log(2.0) - max(-2.0 * x, 0.0) - math.log1p(math.exp(-abs(2.0 * x)))


def error_rate_of(challenge: int, error_rate: float) -> float:
    """The error rate of challenge 1, 2, 3, ...: together they amount to no more than `error_rate`.

    α_k = α 6 / (π k)², whose sum over all k is α.
    """
    return error_rate * 6.0 / (math.pi * challenge) ** 2
