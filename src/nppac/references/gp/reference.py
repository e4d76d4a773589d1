"""The GP posterior as a reference policy: its variance grows away from the demonstrations."""

import dataclasses
import json
from functools import cached_property
from typing import ClassVar

import numpy as np

from nppac.references.base import Arrays, Reference
from nppac.references.checks import checked_states
from nppac.references.gp.config import GPConfig
from nppac.references.gp.exact_variance import ExactVariance, eigendecomposition
from nppac.references.gp.kernels import cross
from nppac.references.gp.likelihood import GPParams
from nppac.references.gp.neighbours import NeighbourVariance
from nppac.references.gp.query import Query
from nppac.types import Family, ReferenceStats

_EXACT_ENTRIES = 2**22
"""Kernel values held at once for exact variances: 32 MB."""


class GPReference(Reference):
    """p(a|s) of the GP conditioned on demonstrations; the action's own noise is included.

    Mean: m + κ(s, S̄) W with W precomputed. Variance: that of the whitened, rotated outputs,
    rotated back: variance_j = D_j Σ_p R_jp² var_p. Correlations between actions are dropped.
    """

    kind: ClassVar[str] = "gp"
    family: Family = "normal"

    def __init__(
        self,
        params: GPParams,
        kernel: str,
        obs: np.ndarray,
        actions: np.ndarray,
        weights: np.ndarray,
        config: GPConfig,
        report: dict[str, object] | None = None,
        variance: ExactVariance | None = None,
    ):
        self.params, self.kernel, self.config = params, kernel, config
        self.obs, self.actions, self.weights = obs, actions, weights
        self.report = report or {}
        self._centre = obs.mean(0)
        self._x = (obs - self._centre) / params.lengthscales
        self._lam, rotation = rotate_outputs(params)
        self._unwhiten = (rotation**2).T * params.noise_variance
        self._variance = variance

    def __call__(self, obs: np.ndarray) -> ReferenceStats:
        """Location and scale at each of the (n, o) states: float32 arrays of shape (n, P)."""
        loc, variance = self.moments(obs)
        scale = variance if self.config.scale_is_variance else np.sqrt(variance)
        return ReferenceStats(loc.astype(np.float32), scale.astype(np.float32))

    def moments(self, obs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Mean and variance of the action, each (n, P), in float64."""
        x = self._scaled(obs)
        if self.config.variance_method(len(self._x)) == "exact":
            mean, whitened = self._query.mean(x), self._exact_variance(x)
        else:
            mean, nearest = self._query.mean_and_nearest(x, self._neighbours.reach)
            whitened = self._neighbours(x, nearest)
        return self.params.mean + mean, whitened @ self._unwhiten

    def mean(self, obs: np.ndarray) -> np.ndarray:
        """Location alone: fast enough to act with."""
        return (self.params.mean + self._query.mean(self._scaled(obs))).astype(np.float32)

    @cached_property
    def _query(self) -> Query:
        return Query(self.kernel, self._x, self.weights)

    @cached_property
    def _neighbours(self) -> NeighbourVariance:
        return NeighbourVariance(self.kernel, self._x, self._lam, self.config.neighbours)

    def _exact_variance(self, x: np.ndarray) -> np.ndarray:
        if self._variance is None:
            self._variance = ExactVariance(*eigendecomposition(self.kernel, self._x), self._lam)
        rows = max(1, _EXACT_ENTRIES // len(self._x))
        parts = (x[i : i + rows] for i in range(0, len(x), rows))
        blocks = [self._variance(cross(self.kernel, part, self._x)) for part in parts]
        return np.concatenate(blocks) if blocks else np.empty((0, len(self._lam)))

    def _scaled(self, obs: np.ndarray) -> np.ndarray:
        obs = checked_states(obs, len(self._centre), "The GP")
        return (obs - self._centre) / self.params.lengthscales

    def arrays(self) -> Arrays:
        """Hyper-parameters, demonstrations and weights; the factor is recomputed on use."""
        params = {f"params_{name}": value for name, value in self.params._asdict().items()}
        return {
            "kernel": np.asarray(self.kernel),
            "config": np.asarray(json.dumps(dataclasses.asdict(self.config))),
            "report": np.asarray(json.dumps(self.report)),
            "obs": self.obs,
            "actions": self.actions,
            "weights": self.weights,
            **params,
        }

    @classmethod
    def from_arrays(cls, arrays: Arrays) -> "GPReference":
        """The reference that `arrays` described."""
        params = GPParams(*(arrays[f"params_{name}"] for name in GPParams._fields))
        config = GPConfig(**json.loads(str(arrays["config"])))
        report = json.loads(str(arrays["report"]))
        obs, actions, weights = (arrays[name] for name in ("obs", "actions", "weights"))
        return cls(params, str(arrays["kernel"]), obs, actions, weights, config, report)

    def summary(self) -> dict[str, object]:
        """Kernel, sizes, likelihoods and hyper-parameters, as plain Python numbers."""
        params = self.params
        return {
            "kind": self.kind,
            "kernel": self.kernel,
            "points": len(self.obs),
            "variance": self.config.variance_method(len(self.obs)),
            **self.report,
            "lengthscales": params.lengthscales.tolist(),
            "observation_spread": self.obs.std(0).tolist(),
            "noise_std": np.sqrt(params.noise_variance).tolist(),
            "prior_std": np.sqrt(prior_variance(params)).tolist(),
            "mean": params.mean.tolist(),
            "coregionalisation": {"w": params.w.tolist(), "v": params.v.tolist()},
        }


def prior_variance(params: GPParams) -> np.ndarray:
    """Variance of each action far from all demonstrations: diag(B) + D."""
    return params.w**2 + params.v + params.noise_variance


def rotate_outputs(params: GPParams) -> tuple[np.ndarray, np.ndarray]:
    """Eigenvalues Λ (P,), none negative, and eigenvectors R (P, P) of M = D^-½ B D^-½."""
    lam, rotation = np.linalg.eigh(params.whitened)
    return np.maximum(lam, 0.0), rotation
