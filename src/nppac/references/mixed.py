"""The mean of one reference with the scale of another, to see which of the two does the harm."""

from typing import ClassVar

import numpy as np

from nppac.references.base import Arrays, Reference
from nppac.references.files import nested, nested_reference
from nppac.references.fixed import MEAN
from nppac.references.registry import (
    REFERENCES,
    ReferenceKind,
    get_kind,
    register_loader,
)
from nppac.types import ReferenceStats
from nppac.utils.errors import UserError

PREFIX = "mixed:"
"""How the name of a mixture begins: mixed:MEAN+SCALE."""
SCALE = "scale_of_"
"""Prefix of the reference that a scale is taken from."""
NO_SCALE = (
    "A uniform reference has no scale to give to another's mean. Take the scale from a Gaussian or "
    "a Laplace reference."
)


class MixedReference(Reference):
    """Location from `mean`; scale, and with it the family of the density, from `scale`."""

    kind: ClassVar[str] = "mixed"

    def __init__(self, mean: Reference, scale: Reference):
        if scale.family == "uniform":
            raise UserError(NO_SCALE)
        self.mean_of, self.scale_of = mean, scale
        self.family = scale.family

    def __call__(self, obs: np.ndarray) -> ReferenceStats:
        """The one's location and the other's scale."""
        loc, scale = self.mean_of.mean(obs), self.scale_of(obs).scale
        if np.shape(loc) != np.shape(scale):
            raise UserError(
                f"A mixed reference takes its mean, of shape {np.shape(loc)}, and its scale, of "
                f"shape {np.shape(scale)}, from references for different actions."
            )
        return ReferenceStats(loc, scale)

    def mean(self, obs: np.ndarray) -> np.ndarray:
        """The one's location."""
        return self.mean_of.mean(obs)

    def far_scale(self) -> np.ndarray | None:
        """The other's."""
        return self.scale_of.far_scale()

    def arrays(self) -> Arrays:
        """The arrays of both references, each under its prefix."""
        return {**nested(MEAN, self.mean_of), **nested(SCALE, self.scale_of)}

    @classmethod
    def from_arrays(cls, arrays: Arrays) -> "MixedReference":
        """The reference that `arrays` described."""
        return cls(nested_reference(MEAN, arrays), nested_reference(SCALE, arrays))

    def summary(self) -> dict[str, object]:
        """Both references' summaries."""
        mean, scale = self.mean_of.summary(), self.scale_of.summary()
        return {"kind": self.kind, "mean": mean, "scale": scale}


def mixed_kinds(name: str) -> tuple[ReferenceKind, ReferenceKind]:
    """What `mixed:MEAN+SCALE` takes the mean from, and what it takes the scale from."""
    names = name.removeprefix(PREFIX).split("+")
    if len(names) != 2:
        raise UserError(f"'{name}' does not name two references. Write mixed:MEAN+SCALE.")
    mean, scale = (get_kind(one) for one in names)
    if scale is REFERENCES.get("uniform"):
        raise UserError(NO_SCALE)
    return mean, scale


register_loader(MixedReference)
