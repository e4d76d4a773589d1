"""A deep ensemble as a reference policy: networks that differ in seed and in their data."""

from functools import partial
from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float32

from nppac.references.base import Arrays
from nppac.references.neural.config import NetworkConfig, ObjectiveSettings, resolve
from nppac.references.neural.fit import FitReport, fit_members
from nppac.references.neural.model import DensityNetworks, match_moments, scale_of
from nppac.references.neural.network import (
    NetworkReference,
    NeuralReference,
    Parts,
    parts_of,
    register_network,
    standardise_data,
)
from nppac.references.registry import register_loader
from nppac.types import ReferenceStats
from nppac.utils.errors import UserError
from nppac.utils.progress import Advance, silent

WEIGHT_DECAY = 1e-6
"""The paper's, for ensembles and dropout; as a coupled decay it is λ = half of it."""


class EnsembleReference(NeuralReference):
    """The density with mean μ = mean μ_k and variance σ² = mean(σ_k² + μ_k²) - μ²."""

    kind: ClassVar[str] = "ensemble"

    def _query(self, x: Float32[np.ndarray, "n o"]) -> ReferenceStats:
        return _query(self.networks, x, self.config.objective)

    @classmethod
    def from_arrays(cls, arrays: Arrays) -> "EnsembleReference":
        """The reference that `arrays` described."""
        return cls(parts_of(arrays, ensemble=True))

    def __len__(self) -> int:
        return len(self.networks.mean.biases[0])

    def members(self, k: int) -> "EnsembleReference":
        """The ensemble of the first k members."""
        if not 1 <= k <= len(self):
            raise UserError(f"This ensemble has {len(self)} members; cannot take {k} of them.")
        networks = jax.tree.map(lambda leaf: leaf[:k], self.networks)
        report = _report(self.report["points"], self.report["members"][:k])
        return EnsembleReference(Parts(networks, self.units, self.config, report))

    def member(self, i: int) -> NetworkReference:
        """Member i by itself."""
        networks = jax.tree.map(lambda leaf: leaf[i], self.networks)
        return NetworkReference(Parts(networks, self.units, self.config, self.report["members"][i]))


@partial(jax.jit, static_argnames="settings")
def _query(
    networks: DensityNetworks, x: Float32[Array, "n o"], settings: ObjectiveSettings
) -> ReferenceStats:
    locs, variances = jax.vmap(lambda one: one(x, settings.floor))(networks)
    loc, variance = match_moments(locs, variances, settings.floor)
    return ReferenceStats(loc, scale_of(settings.family, variance))


def fit_ensemble(
    obs: np.ndarray,
    actions: np.ndarray,
    config: NetworkConfig | None = None,
    advance: Advance = silent,
    members: int | None = None,
) -> EnsembleReference:
    """Fit `members` networks, by default `config.members`, each with its own seed and split.

    `advance` counts to `config.max_epochs`. The first k members are the same for any number of
    them.
    """
    config = resolve(config or NetworkConfig(), {"tikhonov": WEIGHT_DECAY / 2})
    members = config.members if members is None else members
    if members < 1:
        raise UserError(f"An ensemble needs at least one member, not {members}.")
    units, data = standardise_data(obs, actions)
    fitted = fit_members(data, config, members=members, advance=advance)
    networks = jax.tree.map(lambda *leaves: jnp.stack(leaves), *(one.networks for one in fitted))
    report = _report(len(data.x), [one.report for one in fitted])
    return EnsembleReference(Parts(networks, units, config, report))


def _report(points: int, members: list[FitReport]) -> FitReport:
    """Ranges over the members, and each member's own report."""
    best = [report["best_epoch"] for report in members]
    losses = [report["best_validation_nll"] for report in members]
    return {
        "points": points,
        "size": len(members),
        "first_best_epoch": min(best),
        "last_best_epoch": max(best),
        "mean_validation_nll": float(np.mean(losses)),
        "members": members,
    }


register_loader(EnsembleReference)
register_network(
    "ensemble", "Deep ensemble, by default of 15 networks.", fit_ensemble, tikhonov=WEIGHT_DECAY / 2
)
