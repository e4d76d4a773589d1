"""What the references made of networks share: the query, the file and the summary."""

import dataclasses
import json
from abc import abstractmethod
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from nppac.nn.mlp import MLP
from nppac.references.base import Reference
from nppac.references.neural.config import NetworkConfig
from nppac.references.neural.query import Standardiser, in_chunks
from nppac.types import ReferenceStats
from nppac.utils.files import write_arrays


class Parts(NamedTuple):
    """What every reference made of networks consists of."""

    network: MLP
    """One network, or several with a common first axis."""
    units: Standardiser
    config: NetworkConfig
    report: dict[str, Any]
    """How training went; its lists are histories, which the summary leaves out."""


class NeuralReference(Reference):
    """A reference whose statistics come from networks; unsquashed, as a GP's are."""

    kind: ClassVar[str]

    def __init__(self, parts: Parts):
        self.network, self.units, self.config, self.report = parts
        self.family = self.config.family

    @abstractmethod
    def _ask(self, x: Any) -> ReferenceStats:
        """Location and scale at standardised states, by a compiled function."""

    def __call__(self, obs: np.ndarray) -> ReferenceStats:
        """Location and scale at each of the (n, o) states: float32 arrays of shape (n, d)."""
        return ReferenceStats(*in_chunks(self._ask, self.units(obs)))

    def mean(self, obs: np.ndarray) -> np.ndarray:
        """Location alone."""
        return np.asarray(self(obs).loc)

    def arrays(self) -> dict[str, np.ndarray]:
        """Everything that the file holds."""
        return {
            "kind": np.asarray(self.kind),
            "config": np.asarray(json.dumps(dataclasses.asdict(self.config))),
            "report": np.asarray(json.dumps(self.report)),
            **self.units._asdict(),
            **_network_arrays(self.network),
        }

    def save(self, path: str | Path) -> None:
        """Write settings, report, standardisation and weights."""
        write_arrays(path, self.arrays())

    @classmethod
    def from_arrays(cls, arrays: dict[str, np.ndarray]) -> "NeuralReference":
        """The reference that `save` wrote."""
        return cls(parts_of(arrays))

    def summary(self) -> dict[str, object]:
        """The settings that matter and how training went; the course of it is in `report`."""
        config = self.config
        return {
            "kind": self.kind,
            "family": config.family,
            "hidden": list(config.hidden),
            "variance_floor": config.variance_floor,
            "entropy_bonus": config.entropy_bonus,
            "tikhonov": config.tikhonov,
            **{key: value for key, value in self.report.items() if not isinstance(value, list)},
        }


def parts_of(arrays: dict[str, np.ndarray]) -> Parts:
    """The parts of the reference that these arrays describe."""
    return Parts(
        _network_from_arrays(arrays),
        Standardiser(arrays["centre"], arrays["spread"]),
        NetworkConfig.from_json(json.loads(str(arrays["config"]))),
        json.loads(str(arrays["report"])),
    )


def _network_arrays(network: MLP) -> dict[str, np.ndarray]:
    weights = {f"weight_{i}": np.asarray(w) for i, w in enumerate(network.weights)}
    biases = {f"bias_{i}": np.asarray(b) for i, b in enumerate(network.biases)}
    return {**weights, **biases}


def _network_from_arrays(arrays: dict[str, np.ndarray]) -> MLP:
    layers = sum(name.startswith("weight_") for name in arrays)
    weights = tuple(jnp.asarray(arrays[f"weight_{i}"]) for i in range(layers))
    biases = tuple(jnp.asarray(arrays[f"bias_{i}"]) for i in range(layers))
    blank = MLP(jax.random.key(0), 1, (), 1, 0.0)
    return eqx.tree_at(lambda n: (n.weights, n.biases), blank, (weights, biases))
