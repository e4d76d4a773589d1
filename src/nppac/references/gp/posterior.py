"""The GP posterior as a reference policy.

As the paper writes it, with actions A demonstrated at states S̄, prior mean m and noise D:

    mean        m + k(s, S̄) (K + D)⁻¹ (A - m)
    covariance  k(s, s) - k(s, S̄) (K + D)⁻¹ k(S̄, s) + D

The kernel is k((s, i), (s', j)) = B_ij κ(s, s') for actions i and j, so K = κ(S̄, S̄) ⊗ B has N·d
rows: 140,000 for the door. It is never built. Divide the actions by their noise, and rotate them
by the eigenvectors R of M = D^-½ B D^-½ = R diag(Λ) Rᵀ: Z = (A - m) D^-½ R. The d columns of Z are
independent GPs with kernels Λ_j κ and unit noise. From here on K = κ(S̄, S̄) is N x N:

    (Λ_j K + I) g_j = z_j,   W = G diag(Λ) Rᵀ D^½                   (solved for once)
    mean        m + κ(s, S̄) W
    variance_i  D_i Σ_j R_ij² [1 + Λ_j - Λ_j² κ(s, S̄) (Λ_j K + I)⁻¹ κ(S̄, s)]

Correlations between actions at one state are dropped, as in the authors' code.
"""

import json
from functools import cached_property
from typing import ClassVar, cast

import numpy as np
from jaxtyping import Float, Float32

from nppac.references.base import Reference
from nppac.references.checks import (
    check_fit_data,
    checked_states,
    damaged,
    saved_json,
    saved_matrix,
    saved_numbers,
    saved_text,
)
from nppac.references.gp.config import (
    DIRECT_POINTS,
    NOISE_FLOOR,
    GPConfig,
    iterative_progress,
    migrate_gp_settings,
)
from nppac.references.gp.kernels import (
    GPParams,
    KernelName,
    kernel_function,
    prior_variance,
    rotate_outputs,
)
from nppac.references.gp.large.solve import solve_iteratively
from nppac.references.gp.mean import TiledMean
from nppac.references.gp.saved import Report, saved_params, saved_report
from nppac.references.gp.solve import solve_with_cholesky
from nppac.references.gp.variance import ExactVariance, NeighbourVariance, eigendecomposition
from nppac.types import Family, ReferenceStats
from nppac.utils.progress import Advance, silent
from nppac.utils.settings import plain_settings, read_settings

_NEAR_FLOOR = 1.25
"""A noise variance of at most this many floors counts as one on the floor."""


def condition(
    params: GPParams,
    kernel: KernelName,
    obs: np.ndarray,
    actions: np.ndarray,
    config: GPConfig | None = None,
    report: Report | None = None,
    advance: Advance = silent,
) -> "GPReference":
    """The posterior given all points, for hyper-parameters that are known.

    `advance` counts to `WORK`.
    """
    config = config or GPConfig()
    obs, actions = check_fit_data(obs, actions)
    params = GPParams(*(np.asarray(value, np.float64) for value in params))
    x = (obs - obs.mean(0)) / params.lengthscales
    lam, rotation = rotate_outputs(params)
    noise_root = np.sqrt(params.noise_variance)
    z = (actions - params.mean) / noise_root @ rotation
    variance = None
    if config.variance_method(len(obs)) == "exact":
        # The variance needs the eigendecomposition anyway, and it solves every system at once.
        s, v = eigendecomposition(kernel, x)
        g = v @ (v.T @ z / (1.0 + s[:, None] * lam))
        variance = ExactVariance(s, v, lam)
    elif len(obs) <= DIRECT_POINTS:
        g = solve_with_cholesky(kernel, x, lam, z, advance)
    else:
        g = solve_iteratively(kernel, x, lam, z, iterative_progress(advance))
    weights = (g * lam) @ rotation.T * noise_root
    return GPReference(params, kernel, obs, actions, weights, config, report, variance)


class GPReference(Reference):
    """p(a|s) of the GP conditioned on demonstrations; the action's own noise is included."""

    kind: ClassVar[str] = "gp"
    family: Family = "normal"

    def __init__(
        self,
        params: GPParams,
        kernel: KernelName,
        obs: Float[np.ndarray, "n o"],
        actions: Float[np.ndarray, "n d"],
        weights: Float[np.ndarray, "n d"],
        config: GPConfig,
        report: Report | None = None,
        variance: ExactVariance | None = None,
    ):
        self.params, self.config = params, config
        self.kernel: KernelName = kernel
        self.obs, self.actions, self.weights = obs, actions, weights
        self.report: Report = report or {}
        self._centre = obs.mean(0)
        self._x = (obs - self._centre) / params.lengthscales
        self._lam, rotation = rotate_outputs(params)
        self._unwhiten = (rotation**2).T * params.noise_variance
        self._given_variance = variance

    def __call__(self, obs: np.ndarray) -> ReferenceStats:
        """Location and scale at each of the (n, o) states: float32 arrays of shape (n, d)."""
        loc, variance = self.mean_and_variance(obs)
        return ReferenceStats(loc.astype(np.float32), self._scale(variance).astype(np.float32))

    def far_scale(self) -> Float[np.ndarray, " d"]:
        """The prior's scale, to which the posterior's returns far from all demonstrations."""
        return self._scale(prior_variance(self.params))

    def _scale(self, variance: Float[np.ndarray, "*n d"]) -> Float[np.ndarray, "*n d"]:
        return variance if self.config.scale_is_variance else np.sqrt(variance)

    def mean_and_variance(
        self, obs: np.ndarray
    ) -> tuple[Float[np.ndarray, "n d"], Float[np.ndarray, "n d"]]:
        """Mean and variance (not its root) of the action at (n, o) states, in float64."""
        x = self._scaled(obs)
        if self.config.variance_method(len(self._x)) == "exact":
            mean = self._mean.mean(x)
            whitened = self._exact_variance.at(self.kernel, x, self._x)
        else:
            mean, nearest = self._mean.mean_and_nearest(x, self._neighbours.reach)
            whitened = self._neighbours(x, nearest)
        return self.params.mean + mean, whitened @ self._unwhiten

    def mean(self, obs: np.ndarray) -> Float32[np.ndarray, "n d"]:
        """Location alone: fast enough to act with."""
        return (self.params.mean + self._mean.mean(self._scaled(obs))).astype(np.float32)

    def _scaled(self, obs: np.ndarray) -> Float[np.ndarray, "n o"]:
        obs = checked_states(obs, len(self._centre), "The GP")
        return (obs - self._centre) / self.params.lengthscales

    @cached_property
    def _mean(self) -> TiledMean:
        return TiledMean(self.kernel, self._x, self.weights)

    @cached_property
    def _neighbours(self) -> NeighbourVariance:
        return NeighbourVariance(self.kernel, self._x, self._lam, self.config.neighbours)

    @cached_property
    def _exact_variance(self) -> ExactVariance:
        if self._given_variance is not None:
            return self._given_variance
        return ExactVariance(*eigendecomposition(self.kernel, self._x), self._lam)

    def arrays(self) -> dict[str, np.ndarray]:
        """Hyper-parameters, demonstrations and weights; the factor is recomputed on use."""
        return {
            "kernel": np.asarray(self.kernel),
            "config": np.asarray(json.dumps(plain_settings(self.config))),
            "report": np.asarray(json.dumps(self.report)),
            "obs": self.obs,
            "actions": self.actions,
            "weights": self.weights,
            **{f"params_{name}": value for name, value in self.params._asdict().items()},
        }

    @classmethod
    def from_arrays(cls, arrays: dict[str, np.ndarray]) -> "GPReference":
        """The reference that `arrays` described; a damaged one is refused."""
        obs, actions = saved_matrix(arrays, "obs"), saved_matrix(arrays, "actions")
        if len(actions) != len(obs):
            raise damaged("actions", f"has {len(actions)} rows for {len(obs)} observations")
        kernel = saved_text(arrays, "kernel")
        kernel_function(kernel)  # refuses an unknown name
        settings = migrate_gp_settings(saved_json(arrays, "config"))
        return cls(
            saved_params(arrays, obs, actions.shape[1]),
            cast(KernelName, kernel),
            obs,
            actions,
            saved_numbers(arrays, "weights", actions.shape),
            read_settings(GPConfig, settings, "config"),
            saved_report(arrays),
        )

    def summary(self) -> dict[str, object]:
        """Kernel, sizes, likelihoods and hyper-parameters, as plain Python numbers."""
        params = self.params
        return {
            "kind": self.kind,
            "kernel": self.kernel,
            "points": len(self.obs),
            "variance": self.config.variance_method(len(self.obs)),
            **self.report,
            "actions_on_noise_floor": int(
                (params.noise_variance <= _NEAR_FLOOR * NOISE_FLOOR).sum()
            ),
            "lengthscales": params.lengthscales.tolist(),
            "observation_spread": self.obs.std(0).tolist(),
            "noise_std": np.sqrt(params.noise_variance).tolist(),
            "prior_std": np.sqrt(prior_variance(params)).tolist(),
            "mean": params.mean.tolist(),
            "coregionalisation": {"w": params.w.tolist(), "v": params.v.tolist()},
        }
