"""Fits the GP's hyper-parameters to demonstrations by marginal likelihood."""

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from nppac.references.gp.config import COARSE_POINTS, GPConfig
from nppac.references.gp.kernels import KERNELS, KernelName
from nppac.references.gp.likelihood import GPParams, log_marginal_likelihood
from nppac.references.gp.optimise import Objective, Optimum, adam, lbfgs
from nppac.utils.progress import Advance, silent

NOISE_FLOOR = 1e-4
"""Least noise variance of an action, the authors' too: actions live in [-1, 1]."""
_TRIAL_POINTS = 500


class HyperFit(NamedTuple):
    """Fitted hyper-parameters, and the log marginal likelihood per point at both ends.

    Of the points that the fit began with, and of those that it ended with.
    """

    kernel: KernelName
    params: GPParams
    points: int
    before: float
    after: float
    per_kernel: dict[str, float]
    """Log marginal likelihood per point of each kernel that was tried."""
    theta: np.ndarray
    """The hyper-parameters as the optimiser has them."""


class Units(NamedTuple):
    """What the optimiser counts in, so that its steps mean the same for any robot."""

    obs: np.ndarray
    action: np.ndarray
    action_mean: np.ndarray


def fit_hyperparameters(
    obs: np.ndarray, actions: np.ndarray, config: GPConfig, advance: Advance = silent
) -> HyperFit:
    """Maximise the marginal likelihood of a random subset; `auto` first tries every kernel."""
    if config.kernel != "auto":
        return _fit_and_refine(config.kernel, obs, actions, config, advance)
    points, steps = min(config.fit_points, _TRIAL_POINTS), config.trial_steps
    trials = [
        _fit(kernel, obs, actions, config, points, steps, _after(i * steps, advance))
        for i, kernel in enumerate(KERNELS)
    ]
    best = max(trials, key=lambda trial: trial.after).kernel
    later = _after(len(KERNELS) * steps, advance)
    fit = _fit_and_refine(best, obs, actions, config, later)
    return fit._replace(per_kernel={trial.kernel: trial.after for trial in trials})


def _after(offset: int, advance: Advance) -> Advance:
    return lambda done, status="": advance(offset + done, status)


def _fit_and_refine(
    kernel: KernelName, obs: np.ndarray, actions: np.ndarray, config: GPConfig, advance: Advance
) -> HyperFit:
    """Most steps on few points, the last on all that the fit may take: nearly as good, and fast."""
    if not config.refine_steps or len(obs) <= COARSE_POINTS:
        return _fit(kernel, obs, actions, config, config.fit_points, config.steps, advance)
    coarse = _fit(kernel, obs, actions, config, COARSE_POINTS, config.steps, advance)
    later = _after(config.steps, advance)
    points, steps = config.fit_points, config.refine_steps
    fine = _fit(kernel, obs, actions, config, points, steps, later, coarse.theta)
    return fine._replace(before=coarse.before)


def _fit(
    kernel: KernelName,
    obs: np.ndarray,
    actions: np.ndarray,
    config: GPConfig,
    points: int,
    steps: int,
    advance: Advance,
    theta: np.ndarray | None = None,
) -> HyperFit:
    """The optimiser's best on a random subset, from `theta` on or from the usual start."""
    units = units_of(obs, actions)
    chosen = _subset(len(obs), points, config.seed)
    x, a = (obs - obs.mean(0))[chosen], actions[chosen]
    start = initial_theta(actions, units)

    def show(done: int, status: str = "") -> None:
        advance(done, f"{kernel}, {status}")

    theta = _flatten(start) if theta is None else theta
    best = _optimise(_objective(kernel, x, a, units), theta, config, steps, show)
    natural = constrain(_unflatten(best.theta, start), units, np)
    params = GPParams(*(np.asarray(value) for value in natural))
    after = -best.after
    return HyperFit(kernel, params, len(x), -best.before, after, {kernel: after}, best.theta)


def _optimise(
    objective: Objective, start: np.ndarray, config: GPConfig, steps: int, advance: Advance
) -> Optimum:
    if config.optimiser == "lbfgs":
        return lbfgs(objective, start, steps, advance)
    return adam(objective, start, steps, config.learning_rate, advance)


def _objective(kernel: str, x: np.ndarray, a: np.ndarray, units: Units) -> Objective:
    """Minus the log marginal likelihood per point, and its gradient, of a flat vector."""
    like = initial_theta(a, units)

    def objective(flat: np.ndarray) -> tuple[float, np.ndarray]:
        # In float64 here only: networks elsewhere are float32.
        with jax.enable_x64(True):
            value, gradient = _loss_and_gradient(_unflatten(flat, like), units, x, a, kernel=kernel)
            return float(value), _flatten(gradient)

    return objective


@partial(jax.jit, static_argnames="kernel")
def _loss_and_gradient(theta: GPParams, units: Units, x: Any, a: Any, *, kernel: str) -> Any:
    def loss(theta):
        params = constrain(theta, units, jnp)
        return -log_marginal_likelihood(params, kernel, x, a) / len(x)

    return jax.value_and_grad(loss)(theta)


def _flatten(params: GPParams) -> np.ndarray:
    return np.concatenate([np.atleast_1d(np.asarray(value, np.float64)) for value in params])


def _unflatten(flat: np.ndarray, like: GPParams) -> GPParams:
    ends = np.cumsum([np.size(value) for value in like])[:-1]
    parts = zip(np.split(flat, ends), like, strict=True)
    return GPParams(*(part.reshape(np.shape(value)) for part, value in parts))


def _subset(n: int, points: int, seed: int) -> np.ndarray:
    if n <= points:
        return np.arange(n)
    return np.sort(np.random.default_rng(seed).choice(n, points, replace=False))


def units_of(obs: np.ndarray, actions: np.ndarray) -> Units:
    """Spread of each observation times √o (a typical distance is then 1), and of each action.

    An observation that is constant up to rounding, demonstrations' in float32, has no spread: it
    counts in its own unit.
    """
    scale = obs.std(0)
    scale = np.where(scale > 1e-6 * np.abs(obs).max(0), scale, 1.0)
    action = np.maximum(actions.std(0), NOISE_FLOOR**0.5)
    return Units(scale * obs.shape[1] ** 0.5, action, actions.mean(0))


def initial_theta(actions: np.ndarray, units: Units) -> GPParams:
    """Where the optimiser starts: B is near the actions' covariance, noise a tenth of it.

    w must not be zero, where its gradient vanishes: take the leading principal component.
    """
    y = (actions - units.action_mean) / units.action
    values, vectors = np.linalg.eigh(y.T @ y / len(y))
    p = y.shape[1]
    return GPParams(
        lengthscales=np.zeros(len(units.obs)),
        w=vectors[:, -1] * max(0.5 * values[-1], 0.01) ** 0.5,
        v=np.full(p, np.log(0.5)),
        noise=np.full(p, np.log(0.1)),
        shared_noise=np.asarray(-6.0),
        mean=np.zeros(p),
    )


def constrain(theta: GPParams, units: Units, xp: Any) -> GPParams:
    """Natural hyper-parameters from the optimiser's: logarithms, in `units`."""
    variance = units.action**2
    return GPParams(
        lengthscales=units.obs * xp.exp(theta.lengthscales),
        w=units.action * theta.w,
        v=variance * xp.exp(theta.v),
        noise=NOISE_FLOOR + variance * xp.exp(theta.noise),
        shared_noise=variance.mean() * xp.exp(theta.shared_noise),
        mean=units.action_mean + units.action * theta.mean,
    )
