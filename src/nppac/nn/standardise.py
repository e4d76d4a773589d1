"""Inputs of a network in units of the data that it is fitted to."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Float32

_CONSTANT = 1e-6
"""An entry that varies by less than this part of its size varies by float32 rounding only."""


class Standardiser(NamedTuple):
    """x = (s - centre) / spread."""

    centre: Float[np.ndarray, " o"]
    spread: Float[np.ndarray, " o"]

    def __call__(self, obs: np.ndarray) -> Float32[np.ndarray, "n o"]:
        """Standardised states."""
        obs = np.asarray(obs, np.float64)
        return ((obs - self.centre) / self.spread).astype(np.float32)


def fit_standardiser(obs: Float[np.ndarray, "n o"]) -> Standardiser:
    """Mean and standard deviation of each entry; one that is constant counts in its own unit.

    In float64, because sums of many equal numbers in float32 would make a constant look varied.
    """
    spread = obs.std(0, dtype=np.float64)
    varies = spread > _CONSTANT * np.abs(obs).max(0)
    return Standardiser(obs.mean(0, dtype=np.float64), np.where(varies, spread, 1.0))
