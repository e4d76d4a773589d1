"""A deep ensemble as a reference policy: networks that differ in seed and in their data."""

from functools import partial
from typing import Any, ClassVar

import jax
import numpy as np

from nppac.nn.mlp import MLP
from nppac.references.checks import check_fit_data
from nppac.references.neural.base import NeuralReference, Parts
from nppac.references.neural.config import NetworkConfig
from nppac.references.neural.epoch import Data
from nppac.references.neural.fit import fit_networks
from nppac.references.neural.model import mixture_density
from nppac.references.neural.network import NetworkReference
from nppac.references.neural.query import standardiser
from nppac.types import ReferenceStats
from nppac.utils.errors import UserError
from nppac.utils.progress import Advance, silent

MEMBERS = 15
WEIGHT_DECAY = 1e-6
"""The paper's, for ensembles and dropout; as a coupled decay it is λ = half of it."""


class EnsembleReference(NeuralReference):
    """The density with mean μ = mean μ_k and variance σ² = mean(σ_k² + μ_k²) - μ²."""

    kind: ClassVar[str] = "ensemble"

    def _ask(self, x: Any) -> ReferenceStats:
        return _query(self.network, x, self.config.compiled())

    def __len__(self) -> int:
        return len(self.network.biases[0])

    def members(self, k: int) -> "EnsembleReference":
        """The ensemble of the first k members."""
        if not 1 <= k <= len(self):
            raise UserError(f"This ensemble has {len(self)} members; cannot take {k} of them.")
        network = jax.tree.map(lambda leaf: leaf[:k], self.network)
        report = _report(self.report["points"], self.report["members"][:k])
        return EnsembleReference(Parts(network, self.units, self.config, report))

    def member(self, i: int) -> NetworkReference:
        """Member i by itself."""
        network = jax.tree.map(lambda leaf: leaf[i], self.network)
        return NetworkReference(Parts(network, self.units, self.config, self.report["members"][i]))


@partial(jax.jit, static_argnames="config")
def _query(networks: MLP, x: Any, config: NetworkConfig) -> ReferenceStats:
    outputs = jax.vmap(lambda network: network(x))(networks)
    return mixture_density(outputs, config)


def fit_ensemble(
    obs: np.ndarray,
    actions: np.ndarray,
    config: NetworkConfig | None = None,
    members: int = MEMBERS,
    advance: Advance = silent,
) -> EnsembleReference:
    """Fit `members` networks, each with its own seed and split, by one compiled program.

    `advance` counts to `config.max_epochs`. The first k members are the same for any number of
    them.
    """
    if members < 1:
        raise UserError(f"An ensemble needs at least one member, not {members}.")
    config = config or NetworkConfig(tikhonov=WEIGHT_DECAY / 2)
    obs, actions = check_fit_data(obs, actions)
    units = standardiser(obs)
    data = Data(units(obs), actions.astype(np.float32), None)
    training = fit_networks(data, config, members=members, advance=advance)
    report = _report(len(obs), training.reports)
    return EnsembleReference(Parts(training.network, units, config, report))


def _report(points: int, members: list[dict[str, Any]]) -> dict[str, Any]:
    """Ranges over the members, and each member's own report."""
    best = [report["best_epoch"] for report in members]
    losses = [report["best_validation_nll"] for report in members]
    return {
        "points": points,
        "size": len(members),
        "first_best_epoch": min(best),
        "last_best_epoch": max(best),
        "mean_validation_nll": float(np.mean(losses)),
        "worst_validation_nll": max(losses),
        "members": members,
    }
