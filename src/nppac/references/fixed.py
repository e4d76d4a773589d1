"""References that learn nothing: the uniform density, and another's mean with constant variance."""

from pathlib import Path

import numpy as np

from nppac.references.base import Reference
from nppac.references.nesting import MEAN, nested
from nppac.types import Family, ReferenceStats
from nppac.utils.errors import UserError
from nppac.utils.files import write_arrays


class UniformReference(Reference):
    """Every action in [-1, 1]^d alike: with it, KL regularisation is entropy regularisation."""

    family: Family = "uniform"

    def __init__(self, action_dim: int):
        self.action_dim = action_dim

    def __call__(self, obs: np.ndarray) -> ReferenceStats:
        """Location 0 and half-width 1."""
        loc = self.mean(obs)
        return ReferenceStats(loc, np.ones_like(loc))

    def mean(self, obs: np.ndarray) -> np.ndarray:
        """Zero, the centre of the box."""
        return np.zeros((len(obs), self.action_dim), np.float32)

    def save(self, path: str | Path) -> None:
        """Write the action dimension."""
        arrays = {"kind": np.asarray("uniform"), "action_dim": np.asarray(self.action_dim)}
        write_arrays(path, arrays)

    @classmethod
    def from_arrays(cls, arrays: dict[str, np.ndarray]) -> "UniformReference":
        """The reference that `save` wrote."""
        return cls(int(arrays["action_dim"]))

    def summary(self) -> dict[str, object]:
        """Kind and action dimension."""
        return {"kind": "uniform", "action_dim": self.action_dim}


class ConstantVarianceReference(Reference):
    """The mean of another reference, equally uncertain everywhere."""

    family: Family = "normal"

    def __init__(self, mean: Reference, variance: float):
        if not 0.0 < variance < np.inf:
            raise UserError(f"A constant variance must be positive and finite, not {variance}.")
        self.inner, self.variance = mean, float(variance)

    def __call__(self, obs: np.ndarray) -> ReferenceStats:
        """The other's location with scale √variance."""
        loc = self.mean(obs)
        return ReferenceStats(loc, np.full_like(loc, self.variance**0.5))

    def mean(self, obs: np.ndarray) -> np.ndarray:
        """The other's location."""
        return self.inner.mean(obs)

    def save(self, path: str | Path) -> None:
        """Write the variance, and the other reference's arrays under a prefix."""
        own = {"kind": np.asarray("constant_variance"), "variance": np.asarray(self.variance)}
        write_arrays(path, {**own, **nested(MEAN, self.inner)})

    def summary(self) -> dict[str, object]:
        """Kind, variance, and the other reference's summary."""
        inner = self.inner.summary()
        return {"kind": "constant_variance", "variance": self.variance, "mean": inner}
