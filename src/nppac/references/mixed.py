"""The mean of one reference with the scale of another, to see which of the two does the harm."""

from pathlib import Path

import numpy as np

from nppac.references.base import Reference
from nppac.references.nesting import MEAN, SCALE, nested
from nppac.types import ReferenceStats
from nppac.utils.errors import UserError
from nppac.utils.files import write_arrays

NO_SCALE = (
    "A uniform reference has no scale to give to another's mean. Take the scale from a Gaussian or "
    "a Laplace reference."
)


class MixedReference(Reference):
    """Location from `mean`; scale, and with it the family of the density, from `scale`."""

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

    def save(self, path: str | Path) -> None:
        """Write both references into one file."""
        inner = {**nested(MEAN, self.mean_of), **nested(SCALE, self.scale_of)}
        write_arrays(path, {"kind": np.asarray("mixed"), **inner})

    def summary(self) -> dict[str, object]:
        """Both references' summaries."""
        mean, scale = self.mean_of.summary(), self.scale_of.summary()
        return {"kind": "mixed", "mean": mean, "scale": scale}
