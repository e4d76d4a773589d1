"""How often the sequential test finds a better policy, beside the bound that it replaced.

    python benchmarks/paired_test_power.py --record

Simulates differences between two policies. Both tests see the same ones and look after each pair.
The former one multiplied exp(λ D - λ² D² / 2), averaged over λ with a half-normal density.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import tyro
from scipy.special import log_ndtr, logsumexp

from nppac.evaluation.sequential_test import STAKES, error_rate_of
from rounds import write_record

EXPECTED_WINS = 20.0
"""Of the former test: its ρ² was 1/20 in units of a typical difference."""

Draw = Callable[[np.random.Generator, tuple[int, int]], np.ndarray]


@dataclass(frozen=True)
class Settings:
    pairs: int = 100
    repetitions: int = 2_000
    seed: int = 0
    record: bool = False
    """Write the record to `results/benchmarks`."""


def successes(challenger: float, incumbent: float) -> Draw:
    """Success rates of two policies that succeed independently."""
    return lambda rng, shape: (
        (rng.random(shape) < challenger).astype(float) - (rng.random(shape) < incumbent)
    )


def falls(challenger: float, incumbent: float, smallest: float, largest: float) -> Draw:
    """Rates of falls, each of which costs between two returns; otherwise both are alike."""

    def draw(rng: np.random.Generator, shape: tuple[int, int]) -> np.ndarray:
        lost = (rng.random(shape) < incumbent).astype(float) - (rng.random(shape) < challenger)
        return lost * rng.uniform(smallest, largest, shape) + rng.normal(0.0, 40.0, shape)

    return draw


def gaussian(mean: float) -> Draw:
    return lambda rng, shape: rng.normal(mean, 1.0, shape)


CASES: dict[str, tuple[Draw, float]] = {
    "falls in 0 instead of 8 % of the episodes": (falls(0.0, 0.08, 500.0, 4_000.0), 600.0),
    "falls in 3 instead of 12 %": (falls(0.03, 0.12, 11_000.0, 11_000.0), 2_000.0),
    "success 95 instead of 75 %": (successes(0.95, 0.75), 1.0),
    "success 85 instead of 75 %": (successes(0.85, 0.75), 1.0),
    "success 93 instead of 86 %": (successes(0.93, 0.86), 1.0),
    "better by 0.5 standard deviations": (gaussian(0.5), 0.7),
    "better by 0.2 standard deviations": (gaussian(0.2), 0.7),
    "equal, success 70 %": (successes(0.7, 0.7), 1.0),
    "equal, Gaussian": (gaussian(0.0), 0.7),
}
"""What is simulated, and the unit that the tests are given."""


def former(differences: np.ndarray) -> np.ndarray:
    """Logarithm of the former evidence after each pair, for differences in their unit."""
    s, v = differences.cumsum(1), (differences**2).cumsum(1) + EXPECTED_WINS
    bound = math.log(2.0) + log_ndtr(s / np.sqrt(v))
    return bound + s**2 / (2.0 * v) + 0.5 * np.log(EXPECTED_WINS / v)


def present(differences: np.ndarray) -> np.ndarray:
    """Logarithm of the present evidence after each pair, for differences in their unit."""
    gains = [math.log(2.0) - np.logaddexp(0.0, -2.0 * stake * differences) for stake in STAKES]
    return logsumexp(np.stack(gains).cumsum(2), axis=0) - math.log(len(STAKES))


def main(settings: Settings) -> None:
    """Print, and record where asked to, the share of promotions in each case."""
    needed = -math.log(error_rate_of(1, 0.05))
    shape = settings.repetitions, settings.pairs
    shares = {}
    print(f"promoted within {settings.pairs} pairs:   former   present")
    for name, (draw, unit) in CASES.items():
        differences = draw(np.random.default_rng(settings.seed), shape) / unit
        found = [float((test(differences) >= needed).any(1).mean()) for test in (former, present)]
        shares[name] = dict(zip(("former", "present"), found, strict=True))
        print(f"{name:45} {found[0]:8.1%} {found[1]:8.1%}")
    if settings.record:
        what = {"pairs": settings.pairs, "repetitions": settings.repetitions, "promoted": shares}
        write_record("paired_test_power", what)


if __name__ == "__main__":
    main(tyro.cli(Settings, description=__doc__))
