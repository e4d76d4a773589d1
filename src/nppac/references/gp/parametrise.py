"""Hyper-parameters as the optimiser has them: logarithms, in units of the demonstrations."""

from types import ModuleType
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from nppac.references.gp.config import NOISE_FLOOR
from nppac.references.gp.likelihood import EitherArray, GPParams


class Units(NamedTuple):
    """The optimiser's units, so that its steps mean the same for any robot."""

    obs: EitherArray
    """(o,), the unit of each observation."""
    action: EitherArray
    """(d,), the unit of each action."""
    action_mean: EitherArray
    """(d,)."""


def units_of(obs: Float[np.ndarray, "n o"], actions: Float[np.ndarray, "n d"]) -> Units:
    """Spread of each observation times √o (a typical distance is then 1), and of each action.

    An observation that is constant up to rounding has no spread (demonstrations come in float32):
    its unit is 1.
    """
    scale = obs.std(0)
    scale = np.where(scale > 1e-6 * np.abs(obs).max(0), scale, 1.0)
    action = np.maximum(actions.std(0), NOISE_FLOOR**0.5)
    return Units(scale * obs.shape[1] ** 0.5, action, actions.mean(0))


def initial_theta(actions: Float[np.ndarray, "n d"], units: Units) -> GPParams:
    """Where the optimiser starts: B is near the actions' covariance, noise a tenth of it.

    w must not be zero, where its gradient vanishes: take the leading principal component.
    """
    y = (actions - units.action_mean) / units.action
    values, vectors = np.linalg.eigh(y.T @ y / len(y))
    d = y.shape[1]
    return GPParams(
        lengthscales=np.zeros(len(units.obs)),
        w=vectors[:, -1] * max(0.5 * values[-1], 0.01) ** 0.5,
        v=np.full(d, np.log(0.5)),
        noise=np.full(d, np.log(0.1)),
        shared_noise=np.asarray(-6.0),
        mean=np.zeros(d),
    )


def constrain(theta: GPParams, units: Units, xp: ModuleType) -> GPParams:
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
