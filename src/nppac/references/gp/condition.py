"""From demonstrations to a GP reference: fit the hyper-parameters, then condition on all points."""

import numpy as np

from nppac.references.checks import check_fit_data as check_data
from nppac.references.gp.config import DIRECT_POINTS, GPConfig
from nppac.references.gp.exact_variance import ExactVariance, eigendecomposition
from nppac.references.gp.fit import HyperFit, fit_hyperparameters
from nppac.references.gp.large.solve import solve_iteratively
from nppac.references.gp.likelihood import GPParams
from nppac.references.gp.reference import GPReference, rotate_outputs
from nppac.references.gp.weights import solve_shifted
from nppac.utils.progress import Advance, silent


def fit_gp(
    obs: np.ndarray,
    actions: np.ndarray,
    config: GPConfig | None = None,
    advance: Advance = silent,
) -> GPReference:
    """Fit hyper-parameters to observations (N, o) and actions (N, P), then condition on all N.

    `advance` counts to `config.total_steps`.
    """
    config = config or GPConfig()
    obs, actions = check_data(obs, actions)
    fit = fit_hyperparameters(obs, actions, config, advance)

    def show(done: int, status: str = "") -> None:
        what = f"conditioning on {len(obs)} points"
        advance(config.total_steps - 1, ", ".join(filter(None, (what, status))))

    show(0)
    params = fit.params._replace(
        lengthscales=config.lengthscale_multiplier * fit.params.lengthscales
    )
    report = _report(fit) | {"lengthscale_multiplier": config.lengthscale_multiplier}
    reference = condition(params, fit.kernel, obs, actions, config, report, show)
    advance(config.total_steps, "done")
    return reference


def condition(
    params: GPParams,
    kernel: str,
    obs: np.ndarray,
    actions: np.ndarray,
    config: GPConfig | None = None,
    report: dict[str, object] | None = None,
    advance: Advance = silent,
) -> GPReference:
    """The posterior given all points, for hyper-parameters that are known.

    With (Λ_p K + I) g_p = z_p and Z = Ỹ R the weights are W = G diag(Λ) Rᵀ D^½. `advance` hears how
    far an iterative solution has come.
    """
    config = config or GPConfig()
    obs, actions = check_data(obs, actions)
    params = GPParams(*(np.asarray(value, np.float64) for value in params))
    x = (obs - obs.mean(0)) / params.lengthscales
    lam, rotation = rotate_outputs(params)
    noise_root = np.sqrt(params.noise_variance)
    z = (actions - params.mean) / noise_root @ rotation
    variance = None
    if config.variance_method(len(obs)) == "exact":
        s, v = eigendecomposition(kernel, x)
        g = v @ (v.T @ z / (1.0 + s[:, None] * lam))
        variance = ExactVariance(s, v, lam)
    elif len(obs) <= DIRECT_POINTS:
        g = solve_shifted(kernel, x, lam, z)
    else:
        g = solve_iteratively(kernel, x, lam, z, advance)
    weights = (g * lam) @ rotation.T * noise_root
    return GPReference(params, kernel, obs, actions, weights, config, report, variance)


def _report(fit: HyperFit) -> dict[str, object]:
    return {
        "fit_points": fit.points,
        "log_likelihood_before": fit.before,
        "log_likelihood_after": fit.after,
        "log_likelihood_per_kernel": fit.per_kernel,
    }
