"""A network fitted by maximum likelihood as a reference policy: its variance may collapse."""

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
from nppac.references.neural.model import density
from nppac.references.neural.query import standardiser
from nppac.types import ReferenceStats
from nppac.utils.progress import Advance, silent


class NetworkReference(NeuralReference):
    """π0(a|s) = N(μ(s), σ²(s)), or Laplace with that variance, from one network."""

    kind: ClassVar[str] = "network"

    def _ask(self, x: Any) -> ReferenceStats:
        return _query(self.network, x, self.config.compiled())


@partial(jax.jit, static_argnames="config")
def _query(network: MLP, x: Any, config: NetworkConfig) -> ReferenceStats:
    return density(network(x), config)


def fit_network(
    obs: np.ndarray,
    actions: np.ndarray,
    config: NetworkConfig | None = None,
    advance: Advance = silent,
    probe: np.ndarray | None = None,
) -> NetworkReference:
    """Fit a network to observations (N, o) and actions (N, d) by maximum likelihood.

    `advance` counts to `config.max_epochs`. With states `probe` (n, o), the mean predictive
    variance there after every epoch is in `report["probe_variance"]`.
    """
    config = config or NetworkConfig()
    obs, actions = check_fit_data(obs, actions)
    units = standardiser(obs)
    probed = None if probe is None else units(probe)
    data = Data(units(obs), actions.astype(np.float32), probed)
    training = fit_networks(data, config, advance=advance)
    network = jax.tree.map(lambda leaf: leaf[0], training.network)
    report = {"points": len(obs), **training.reports[0]}
    return NetworkReference(Parts(network, units, config, report))
