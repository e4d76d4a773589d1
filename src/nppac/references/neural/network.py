"""A network as a reference policy: its mean is a regression's, and its variance may collapse."""

import json
from abc import abstractmethod
from collections.abc import Callable
from functools import partial
from typing import ClassVar, NamedTuple

import jax
import numpy as np
from jaxtyping import Array, Float32

from nppac.nn.mlp import MLP
from nppac.nn.standardise import Standardiser, fit_standardiser
from nppac.references.base import Arrays, Reference
from nppac.references.checks import check_fit_data, checked_states
from nppac.references.neural.batches import Data
from nppac.references.neural.config import (
    NetworkConfig,
    ObjectiveSettings,
    migrate_network_settings,
    resolve,
)
from nppac.references.neural.fit import FitReport, fit_members
from nppac.references.neural.model import DensityNetworks, scale_of
from nppac.references.neural.saved import read_members, read_networks, read_units
from nppac.references.registry import (
    FitSettings,
    ReferenceKind,
    register_loader,
    register_reference,
)
from nppac.references.saved_file import SavedFile
from nppac.types import ReferenceStats
from nppac.utils.batching import map_in_chunks
from nppac.utils.progress import Advance, silent
from nppac.utils.settings import plain_settings, read_settings

TIKHONOV = 1e-3


class Parts(NamedTuple):
    """What every reference made of networks consists of."""

    networks: DensityNetworks
    """Those of one member, or of several with a common first axis."""
    units: Standardiser
    config: NetworkConfig
    report: FitReport
    """How training went; its lists are histories, which the summary leaves out."""


class NeuralReference(Reference):
    """A reference whose statistics come from networks; unsquashed, as a GP's are."""

    def __init__(self, parts: Parts):
        self.networks, self.units, self.config, self.report = parts
        self.family = self.config.objective.family

    @abstractmethod
    def _query(self, x: Float32[np.ndarray, "n o"]) -> ReferenceStats:
        """Location and scale at standardised states, by a compiled function."""

    def __call__(self, obs: np.ndarray) -> ReferenceStats:
        """Location and scale at each of the (n, o) states: float32 arrays of shape (n, d).

        A network extrapolates far beyond the box of actions, where no policy can follow it. The
        environment clips an action there, so the location is clipped too: it acts the same.
        """
        obs = checked_states(obs, len(self.units.centre), "The network")
        loc, scale = map_in_chunks(self._query, self.units(obs))
        return ReferenceStats(np.clip(loc, -1.0, 1.0), scale)

    def mean(self, obs: np.ndarray) -> np.ndarray:
        """Location alone."""
        return np.asarray(self(obs).loc)

    def arrays(self) -> Arrays:
        """Settings, report, standardisation and weights."""
        return {
            "config": np.asarray(json.dumps(plain_settings(self.config))),
            "report": np.asarray(json.dumps(self.report)),
            **self.units._asdict(),
            **_layers("", self.networks.mean),
            **_layers("variance_", self.networks.variance),
        }

    @classmethod
    def from_arrays(cls, arrays: Arrays) -> "NeuralReference":
        """The reference that `arrays` described."""
        return cls(parts_of(arrays))

    def summary(self) -> dict[str, object]:
        """The settings that matter and how training went; the course of it is in `report`."""
        config = self.config
        return {
            "kind": self.kind,
            "family": self.family,
            "hidden": list(config.hidden),
            "variance_floor": config.variance_floor,
            "entropy_bonus": config.entropy_bonus,
            "tikhonov": config.tikhonov,
            **{key: value for key, value in self.report.items() if not isinstance(value, list)},
        }


class NetworkReference(NeuralReference):
    """π0(a|s) = N(μ(s), σ²(s)), or Laplace with that variance: two networks of one size."""

    kind: ClassVar[str] = "network"

    def _query(self, x: Float32[np.ndarray, "n o"]) -> ReferenceStats:
        return _query(self.networks, x, self.config.objective)


@partial(jax.jit, static_argnames="settings")
def _query(
    networks: DensityNetworks, x: Float32[Array, "n o"], settings: ObjectiveSettings
) -> ReferenceStats:
    loc, variance = networks(x, settings.floor)
    return ReferenceStats(loc, scale_of(settings.family, variance))


def fit_network(
    obs: np.ndarray,
    actions: np.ndarray,
    config: NetworkConfig | None = None,
    advance: Advance = silent,
    probe: np.ndarray | None = None,
) -> NetworkReference:
    """Fit networks to observations (N, o) and actions (N, d): μ by squared error, σ² by NLL.

    `advance` counts to `config.max_epochs`. With states `probe` (n, o), the mean predictive
    variance there after every epoch is in `report["probe_variance"]`.
    """
    config = resolve(config or NetworkConfig(), {})
    units, data = standardise_data(obs, actions, probe)
    (member,) = fit_members(data, config, advance=advance)
    report: FitReport = {"points": len(data.x), **member.report}
    return NetworkReference(Parts(member.networks, units, config, report))


def standardise_data(
    obs: np.ndarray, actions: np.ndarray, probe: np.ndarray | None = None
) -> tuple[Standardiser, Data]:
    """The units of the observations, and checked data in them."""
    obs, actions = check_fit_data(obs, actions)
    units = fit_standardiser(obs)
    probed = None if probe is None else units(probe)
    return units, Data(units(obs), actions.astype(np.float32), probed)


def parts_of(arrays: Arrays, *, ensemble: bool = False) -> Parts:
    """The parts of the reference that these arrays describe."""
    saved = SavedFile(arrays, "network")
    fields = migrate_network_settings(saved.json("config"))
    config = read_settings(NetworkConfig, fields, "The file of the network")
    units = read_units(saved)
    networks = read_networks(saved, len(units.centre), read_members(saved) if ensemble else ())
    return Parts(networks, units, resolve(config, {}), saved.json("report"))


def _layers(prefix: str, network: MLP) -> Arrays:
    weights = {f"{prefix}weight_{i}": np.asarray(w) for i, w in enumerate(network.weights)}
    biases = {f"{prefix}bias_{i}": np.asarray(b) for i, b in enumerate(network.biases)}
    return {**weights, **biases}


def register_network(
    name: str,
    description: str,
    fit: Callable[[np.ndarray, np.ndarray, NetworkConfig, Advance], Reference],
    **defaults: object,
) -> None:
    """Register a reference made of networks; `defaults` are its own where the user gives none."""

    def fit_named(
        obs: np.ndarray, actions: np.ndarray, settings: FitSettings, advance: Advance
    ) -> Reference:
        return fit(obs, actions, resolve(settings.network, defaults), advance)

    steps = lambda settings: settings.network.max_epochs  # noqa: E731
    register_reference(ReferenceKind(name, description, fit_named, steps, ("network",)))


register_loader(NetworkReference)
register_network("network", "Gaussian network by maximum likelihood.", fit_network)
register_network(
    "network-entropy",
    "Gaussian network with an entropy bonus, by default tuned.",
    fit_network,
    entropy_bonus="tuned",
)
register_network(
    "network-tikhonov",
    "Gaussian network with its squared parameters penalised.",
    fit_network,
    tikhonov=TIKHONOV,
)
register_network("laplace", "Network with a Laplace density.", fit_network, family="laplace")
