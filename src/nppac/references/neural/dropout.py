"""A network with dropout as a reference policy: an ensemble of its own thinned copies."""

from functools import partial
from typing import ClassVar

import jax
import numpy as np
from jaxtyping import Array, Float32

from nppac.references.base import Arrays
from nppac.references.neural.batches import kept_units
from nppac.references.neural.config import NetworkConfig, ObjectiveSettings, resolve
from nppac.references.neural.ensemble import WEIGHT_DECAY
from nppac.references.neural.fit import FitReport, fit_members
from nppac.references.neural.model import (
    DensityNetworks,
    Kept,
    Masks,
    inverted,
    match_moments,
    scale_of,
)
from nppac.references.neural.network import (
    NeuralReference,
    Parts,
    parts_of,
    register_network,
    standardise_data,
)
from nppac.references.neural.saved import MOST_COPIES, read_kept
from nppac.references.registry import register_loader
from nppac.references.saved_file import SavedFile
from nppac.types import ReferenceStats
from nppac.utils.errors import UserError
from nppac.utils.progress import Advance, silent

RATE = 0.1
PASSES = 20


class DropoutReference(NeuralReference):
    """Moments matched over passes whose masks are drawn once, so that log π0 is a function."""

    kind: ClassVar[str] = "dropout"

    def __init__(self, parts: Parts, kept: Kept):
        super().__init__(parts)
        self.kept = kept
        """For each hidden layer (passes, width): which units of both networks a pass keeps."""

    def _query(self, x: Float32[np.ndarray, "n o"]) -> ReferenceStats:
        masks = inverted(self.kept, self.report["rate"])
        return _query(self.networks, masks, x, self.config.objective)

    def arrays(self) -> Arrays:
        """Everything that the file holds, the kept units included."""
        kept = {f"kept_{i}": np.asarray(mask) for i, mask in enumerate(self.kept)}
        return {**super().arrays(), **kept}

    @classmethod
    def from_arrays(cls, arrays: Arrays) -> "DropoutReference":
        """The reference that `arrays` described."""
        saved, parts = SavedFile(arrays, "network"), parts_of(arrays)
        rate = parts.report.get("rate")
        if not isinstance(rate, float) or not 0 < rate < 1:
            raise saved.damaged("report", "has no rate of dropout between 0 and 1")
        return cls(parts, read_kept(saved, parts.networks))


@partial(jax.jit, static_argnames="settings")
def _query(
    networks: DensityNetworks, masks: Masks, x: Float32[Array, "n o"], settings: ObjectiveSettings
) -> ReferenceStats:
    locs, variances = jax.vmap(lambda one: networks(x, settings.floor, one))(masks)
    loc, variance = match_moments(locs, variances, settings.floor)
    return ReferenceStats(loc, scale_of(settings.family, variance))


def fit_dropout(
    obs: np.ndarray,
    actions: np.ndarray,
    config: NetworkConfig | None = None,
    advance: Advance = silent,
    rate: float = RATE,
    passes: int = PASSES,
) -> DropoutReference:
    """Fit networks whose hidden units are dropped with probability `rate`, fresh at every step.

    Validation, which stops it early, drops none, nor does the mean that the variance is fitted
    around. `advance` counts to `config.max_epochs`.
    """
    if not 0 < rate < 1 or not 1 <= passes <= MOST_COPIES:
        raise UserError(
            "Dropout needs a rate between 0 and 1 and at least one pass, at most "
            f"{MOST_COPIES}, not {rate} and {passes}."
        )
    config = resolve(config or NetworkConfig(), {"tikhonov": WEIGHT_DECAY / 2})
    units, data = standardise_data(obs, actions)
    (member,) = fit_members(data, config, dropout=rate, advance=advance)
    report: FitReport = {"points": len(data.x), "rate": rate, "passes": passes, **member.report}
    shapes = [(passes, width) for width in config.hidden]
    kept = kept_units(np.random.default_rng(config.seed), shapes, rate)
    return DropoutReference(Parts(member.networks, units, config, report), kept)


register_loader(DropoutReference)
register_network(
    "dropout", "Network with dropout, 20 passes.", fit_dropout, tikhonov=WEIGHT_DECAY / 2
)
