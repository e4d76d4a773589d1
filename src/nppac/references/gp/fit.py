"""Fits a GP reference to demonstrations: its hyper-parameters by marginal likelihood."""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Float, Int

from nppac.references.base import Reference
from nppac.references.checks import check_fit_data
from nppac.references.gp.config import COARSE_POINTS, TRIAL_POINTS, WORK, FitWork, GPConfig
from nppac.references.gp.kernels import KERNELS, GPParams, KernelName
from nppac.references.gp.likelihood import (
    Objective,
    Optimum,
    Units,
    adam,
    constrain,
    initial_theta,
    lbfgs,
    log_marginal_likelihood,
    units_of,
)
from nppac.references.gp.posterior import GPReference, Report, condition
from nppac.references.registry import (
    FitSettings,
    ReferenceKind,
    register_loader,
    register_reference,
)
from nppac.utils.parallel import map_all
from nppac.utils.progress import Advance, after, silent, together
from nppac.utils.threads import single_blas_thread

Unravel = Callable[[jax.Array], GPParams]


class HyperFit(NamedTuple):
    """Fitted hyper-parameters, and the log marginal likelihood per point at both ends."""

    kernel: KernelName
    params: GPParams
    points: int
    before: float
    """Of the points that the fit began with."""
    after: float
    """Of the points that it ended with."""
    per_kernel: dict[str, float]
    """Log marginal likelihood per point of each kernel that was tried."""
    theta: Float[np.ndarray, " parameters"]
    """The hyper-parameters as the optimiser has them."""


def fit_gp(
    obs: np.ndarray,
    actions: np.ndarray,
    config: GPConfig | None = None,
    advance: Advance = silent,
) -> GPReference:
    """Fit hyper-parameters to observations (N, o) and actions (N, d), then condition on all N.

    `advance` counts to `WORK`.
    """
    config = config or GPConfig()
    obs, actions = check_fit_data(obs, actions)
    with single_blas_thread():
        return _fit_gp(obs, actions, config, advance)


def _fit_gp(
    obs: Float[np.ndarray, "n o"],
    actions: Float[np.ndarray, "n d"],
    config: GPConfig,
    advance: Advance,
) -> GPReference:
    work = FitWork(config, len(obs), advance)
    fit = fit_hyperparameters(obs, actions, config, work)
    show = after(0, work.begin("condition"), f"conditioning on {len(obs)} points")
    show(0)
    multiplier = config.lengthscale_multiplier
    params = fit.params._replace(lengthscales=multiplier * fit.params.lengthscales)
    reference = condition(params, fit.kernel, obs, actions, config, _report(fit, multiplier), show)
    advance(WORK, "done")
    return reference


def _report(fit: HyperFit, lengthscale_multiplier: float) -> Report:
    return {
        "fit_points": fit.points,
        "log_likelihood_before": fit.before,
        "log_likelihood_after": fit.after,
        "log_likelihood_per_kernel": fit.per_kernel,
        "lengthscale_multiplier": lengthscale_multiplier,
    }


def fit_hyperparameters(
    obs: Float[np.ndarray, "n o"],
    actions: Float[np.ndarray, "n d"],
    config: GPConfig,
    work: FitWork | None = None,
) -> HyperFit:
    """Maximise the marginal likelihood of a random subset; `auto` first tries every kernel."""
    work = work or FitWork(config, len(obs))
    if config.kernel != "auto":
        return _fit_and_refine(config.kernel, obs, actions, config, work)
    points, steps = min(config.fit_points, TRIAL_POINTS), config.trial_steps
    shares = zip(KERNELS, together(len(KERNELS), work.begin("trials")), strict=True)
    trials = map_all(
        lambda share: _fit(share[0], obs, actions, config, points, steps, share[1]), list(shares)
    )
    best = max(trials, key=lambda trial: trial.after).kernel
    fit = _fit_and_refine(best, obs, actions, config, work)
    return fit._replace(per_kernel={trial.kernel: trial.after for trial in trials})


def _fit_and_refine(
    kernel: KernelName,
    obs: Float[np.ndarray, "n o"],
    actions: Float[np.ndarray, "n d"],
    config: GPConfig,
    work: FitWork,
) -> HyperFit:
    """Most steps on few points and the last on all `fit_points`: nearly as good, and fast."""
    first = work.begin("coarse")
    if not work.stages["fine"].steps:
        return _fit(kernel, obs, actions, config, config.fit_points, config.steps, first)
    coarse = _fit(kernel, obs, actions, config, COARSE_POINTS, config.steps, first)
    later = work.begin("fine")
    points, steps = config.fit_points, config.refine_steps
    fine = _fit(kernel, obs, actions, config, points, steps, later, coarse.theta)
    return fine._replace(before=coarse.before)


def _fit(
    kernel: KernelName,
    obs: Float[np.ndarray, "n o"],
    actions: Float[np.ndarray, "n d"],
    config: GPConfig,
    points: int,
    steps: int,
    advance: Advance,
    theta: Float[np.ndarray, " parameters"] | None = None,
) -> HyperFit:
    """The optimiser's best on a random subset, from `theta` on or from the usual start."""
    units = units_of(obs, actions)
    chosen = _subset(len(obs), points, config.seed)
    x, a = (obs - obs.mean(0))[chosen], actions[chosen]
    with jax.enable_x64(True):  # in float64 here only: networks elsewhere are float32
        flat, unravel = ravel_pytree(initial_theta(actions, units))
        start = np.asarray(flat) if theta is None else theta
        show = after(0, advance, f"{kernel},")
        best = _optimise(_objective(kernel, x, a, units, unravel), start, config, steps, show)
        fitted = GPParams(*(np.asarray(value) for value in unravel(jnp.asarray(best.theta))))
    params = GPParams(*(np.asarray(value) for value in constrain(fitted, units, np)))
    end = -best.after
    return HyperFit(kernel, params, len(x), -best.before, end, {kernel: end}, best.theta)


def _optimise(
    objective: Objective,
    start: Float[np.ndarray, " parameters"],
    config: GPConfig,
    steps: int,
    advance: Advance,
) -> Optimum:
    if config.optimiser == "lbfgs":
        return lbfgs(objective, start, steps, advance)
    return adam(objective, start, steps, config.learning_rate, advance)


def _objective(
    kernel: KernelName,
    x: Float[np.ndarray, "n o"],
    a: Float[np.ndarray, "n d"],
    units: Units,
    unravel: Unravel,
) -> Objective:
    """Minus the log marginal likelihood per point, and its gradient, of a flat vector."""

    def objective(
        flat: Float[np.ndarray, " parameters"],
    ) -> tuple[float, Float[np.ndarray, " parameters"]]:
        value, gradient = _loss_and_gradient(unravel(jnp.asarray(flat)), units, x, a, kernel=kernel)
        return float(value), np.asarray(ravel_pytree(gradient)[0])

    return objective


@partial(jax.jit, static_argnames="kernel")
def _loss_and_gradient(
    theta: GPParams,
    units: Units,
    x: Float[Array, "n o"],
    a: Float[Array, "n d"],
    *,
    kernel: KernelName,
) -> tuple[Float[Array, ""], GPParams]:
    def loss(theta: GPParams) -> Float[Array, ""]:
        params = constrain(theta, units, jnp)
        return -log_marginal_likelihood(params, kernel, x, a) / len(x)

    return jax.value_and_grad(loss)(theta)


def _subset(n: int, points: int, seed: int) -> Int[np.ndarray, " chosen"]:
    if n <= points:
        return np.arange(n)
    return np.sort(np.random.default_rng(seed).choice(n, points, replace=False))


def _fit_named(
    obs: np.ndarray, actions: np.ndarray, settings: FitSettings, advance: Advance
) -> Reference:
    return fit_gp(obs, actions, settings.gp, advance)


register_loader(GPReference)
register_reference(
    ReferenceKind(
        "gp",
        "Gaussian process: its variance grows away from the data.",
        _fit_named,
        lambda settings: WORK,
        ("gp",),
    )
)
