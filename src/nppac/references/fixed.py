"""References that learn nothing: the uniform density, and another's mean with constant variance."""

from typing import ClassVar

import numpy as np

from nppac.references.base import Arrays, Reference
from nppac.references.checks import check_fit_data
from nppac.references.files import nested, nested_reference
from nppac.references.gp.config import WORK
from nppac.references.gp.fit import fit_gp
from nppac.references.registry import (
    FitSettings,
    ReferenceKind,
    register_loader,
    register_reference,
)
from nppac.types import Family, ReferenceStats
from nppac.utils.errors import UserError
from nppac.utils.progress import Advance

CONSTANT_VARIANCES = {"constant": 1e-2, "constant-0.005": 5e-3, "constant-0.001": 1e-3}
MEAN = "mean_of_"
"""Prefix of the reference that a mean is taken from."""


MOST_ACTIONS = 10_000
"""Dimensions of an action that a file may tell of."""


class UniformReference(Reference):
    """Every action in [-1, 1]^d alike: with it, KL regularisation is entropy regularisation."""

    kind: ClassVar[str] = "uniform"
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

    def arrays(self) -> Arrays:
        """The action dimension."""
        return {"action_dim": np.asarray(self.action_dim)}

    @classmethod
    def from_arrays(cls, arrays: Arrays) -> "UniformReference":
        """The reference that `arrays` described."""
        count = arrays["action_dim"]
        if count.dtype.kind not in "iu" or not 1 <= int(count) <= MOST_ACTIONS:
            raise UserError("The saved uniform reference is damaged: 'action_dim'. Fit it again.")
        return cls(int(count))

    def summary(self) -> dict[str, object]:
        """Kind and action dimension."""
        return {"kind": self.kind, "action_dim": self.action_dim}


class ConstantVarianceReference(Reference):
    """The mean of another reference, equally uncertain everywhere."""

    kind: ClassVar[str] = "constant_variance"
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

    def arrays(self) -> Arrays:
        """The variance, and the other reference's arrays under a prefix."""
        return {"variance": np.asarray(self.variance), **nested(MEAN, self.inner)}

    @classmethod
    def from_arrays(cls, arrays: Arrays) -> "ConstantVarianceReference":
        """The reference that `arrays` described."""
        return cls(nested_reference(MEAN, arrays), float(arrays["variance"]))

    def summary(self) -> dict[str, object]:
        """Kind, variance, and the other reference's summary."""
        inner = self.inner.summary()
        return {"kind": self.kind, "variance": self.variance, "mean": inner}


def _uniform() -> ReferenceKind:
    def fit(
        obs: np.ndarray, actions: np.ndarray, settings: FitSettings, advance: Advance
    ) -> Reference:
        return UniformReference(check_fit_data(obs, actions)[1].shape[1])

    description = "Uniform over the action box, as in maximum-entropy learning."
    return ReferenceKind("uniform", description, fit, lambda settings: 0, ())


def _constant(name: str, variance: float) -> ReferenceKind:
    def fit(
        obs: np.ndarray, actions: np.ndarray, settings: FitSettings, advance: Advance
    ) -> Reference:
        return ConstantVarianceReference(fit_gp(obs, actions, settings.gp, advance), variance)

    description = f"Mean of the GP with variance {variance:g} everywhere."
    return ReferenceKind(name, description, fit, lambda settings: WORK, ("gp",))


register_loader(UniformReference)
register_loader(ConstantVarianceReference)
for _name, _variance in CONSTANT_VARIANCES.items():
    register_reference(_constant(_name, _variance))
register_reference(_uniform())
