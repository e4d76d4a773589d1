"""A network with dropout as a reference policy: an ensemble of its own thinned copies."""

from functools import partial
from typing import Any, ClassVar

import jax
import numpy as np

from nppac.nn.mlp import MLP
from nppac.references.checks import check_fit_data
from nppac.references.neural.base import NeuralReference, Parts, parts_of
from nppac.references.neural.config import NetworkConfig
from nppac.references.neural.ensemble import WEIGHT_DECAY
from nppac.references.neural.epoch import Data, inverted
from nppac.references.neural.fit import fit_networks
from nppac.references.neural.group import kept_units
from nppac.references.neural.model import forward, mixture_density
from nppac.references.neural.query import standardiser
from nppac.types import ReferenceStats
from nppac.utils.errors import UserError
from nppac.utils.progress import Advance, silent

RATE = 0.1
PASSES = 20


class DropoutReference(NeuralReference):
    """Moments matched over passes whose masks are drawn once, so that log π0 is a function."""

    kind: ClassVar[str] = "dropout"

    def __init__(self, parts: Parts, kept: tuple[np.ndarray, ...]):
        super().__init__(parts)
        self.kept = kept
        """For each hidden layer (passes, width): which units a pass keeps."""

    def _ask(self, x: Any) -> ReferenceStats:
        masks = inverted(self.kept, self.report["rate"])
        return _query(self.network, masks, x, self.config.compiled())

    def arrays(self) -> dict[str, np.ndarray]:
        """Everything that the file holds, the kept units included."""
        kept = {f"kept_{i}": mask for i, mask in enumerate(self.kept)}
        return {**super().arrays(), **kept}

    @classmethod
    def from_arrays(cls, arrays: dict[str, np.ndarray]) -> "DropoutReference":
        """The reference that `save` wrote."""
        parts = parts_of(arrays)
        layers = range(len(parts.config.hidden))
        return cls(parts, tuple(arrays[f"kept_{i}"] for i in layers))


@partial(jax.jit, static_argnames="config")
def _query(network: MLP, masks: Any, x: Any, config: NetworkConfig) -> ReferenceStats:
    outputs = jax.vmap(lambda one: forward(network, x, one))(masks)
    return mixture_density(outputs, config)


def fit_dropout(
    obs: np.ndarray,
    actions: np.ndarray,
    config: NetworkConfig | None = None,
    rate: float = RATE,
    passes: int = PASSES,
    advance: Advance = silent,
) -> DropoutReference:
    """Fit a network whose hidden units are dropped with probability `rate`, fresh at every step.

    Validation, which stops it early, drops none. `advance` counts to `config.max_epochs`.
    """
    if not 0 < rate < 1 or passes < 1:
        raise UserError(
            f"Dropout needs a rate between 0 and 1 and at least one pass, not {rate} and {passes}."
        )
    config = config or NetworkConfig(tikhonov=WEIGHT_DECAY / 2)
    obs, actions = check_fit_data(obs, actions)
    units = standardiser(obs)
    data = Data(units(obs), actions.astype(np.float32), None)
    training = fit_networks(data, config, dropout=rate, advance=advance)
    network = jax.tree.map(lambda leaf: leaf[0], training.network)
    report = {"points": len(obs), "rate": rate, "passes": passes, **training.reports[0]}
    shapes = [(passes, width) for width in config.hidden]
    kept = kept_units(np.random.default_rng(config.seed), shapes, rate)
    return DropoutReference(Parts(network, units, config, report), kept)
