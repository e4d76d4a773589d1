"""Does the reference say how wrong it is? Likelihood and coverage on demonstrations."""

from dataclasses import dataclass
from math import sqrt

import jax.numpy as jnp
import numpy as np
from scipy.special import ndtri

from nppac.nn.distributions import reference_log_prob
from nppac.types import Family, ReferenceStats

LEVELS = (0.5, 0.8, 0.95)
"""Central intervals whose coverage is reported."""


@dataclass(frozen=True)
class Calibration:
    """How well the reference predicts demonstrated actions."""

    held_out: bool
    """Whether these demonstrations were kept from the fit; if not, all of this is optimistic."""
    episodes: int
    states: int
    log_likelihood: float
    """Mean of log π0(a|s) over states, summed over action dimensions, in nats."""
    rmse: float
    """Root mean square of a - μ0 over states and action dimensions."""
    coverage: dict[str, float]
    """Share of actions inside the central interval of each level; ideally the level itself."""


def calibrate(
    family: Family, stats: ReferenceStats, actions: np.ndarray, *, held_out: bool, episodes: int
) -> Calibration:
    """Compare the reference's statistics at states with the actions (n, d) taken there."""
    error = np.asarray(actions, np.float64) - stats.loc
    as_jax = ReferenceStats(*(jnp.asarray(part, jnp.float32) for part in stats))
    log_prob = reference_log_prob(family, as_jax, jnp.asarray(actions, jnp.float32))
    return Calibration(
        held_out=held_out,
        episodes=episodes,
        states=len(actions),
        log_likelihood=float(np.mean(np.asarray(log_prob, np.float64))),
        rmse=sqrt(float(np.mean(error**2))),
        coverage={
            f"{level:.0%}": float(np.mean(np.abs(error) <= half_width(family, level) * stats.scale))
            for level in LEVELS
        },
    )


def half_width(family: Family, level: float) -> float:
    """Half-width of the central interval, in scales: Φ⁻¹(½ + p/2), -log(1 - p), or p."""
    if family == "normal":
        return float(ndtri(0.5 + 0.5 * level))
    if family == "laplace":
        return float(-np.log1p(-level))
    return level
