"""The log marginal likelihood of the multi-output GP, and how it is maximised.

With the noise whitened, Ỹ = (A - m) D^-½ and M = D^-½ B D^-½, the actions' covariance is
K ⊗ M + I. Two small eigendecompositions K = V diag(S) Vᵀ and M = R diag(Λ) Rᵀ diagonalise it: its
eigenvalues are E_nj = 1 + S_n Λ_j, and with Z = Vᵀ Ỹ R and G = Z / E its inverse applied to Ỹ is
V G Rᵀ. So its N·d rows are never built.

The optimisers (L-BFGS, and the paper's Adam) work on a flat vector of logarithms, in units of the
demonstrations.
"""

from collections.abc import Callable
from types import ModuleType
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float
from scipy.optimize import OptimizeResult, minimize

from nppac.references.gp.config import NOISE_FLOOR
from nppac.references.gp.kernels import EitherArray, GPParams, gram
from nppac.utils.errors import UserError
from nppac.utils.progress import Advance

Vector = Float[np.ndarray, " parameters"]
Objective = Callable[[Vector], tuple[float, Vector]]
"""Value and gradient at a vector."""

_RANGE = 9.0
"""Parameters stay this close to their start: a factor of e^±9 for those that are logarithms."""
_WALL = 1e3


class Spectrum(NamedTuple):
    """Both eigendecompositions, and what they make of the actions."""

    s: Float[Array, " n"]
    v: Float[Array, "n n"]
    lam: Float[Array, " d"]
    r: Float[Array, "d d"]
    z: Float[Array, "n d"]
    eigenvalues: Float[Array, "n d"]
    """E = 1 + SΛᵀ, those of the whole covariance."""


def _spectrum(k: Float[Array, "n n"], m: Float[Array, "d d"], y: Float[Array, "n d"]) -> Spectrum:
    s, v = jnp.linalg.eigh(k)
    lam, r = jnp.linalg.eigh(m)
    s, lam = jnp.maximum(s, 0.0), jnp.maximum(lam, 0.0)
    z = v.T @ y @ r
    return Spectrum(s, v, lam, r, z, 1.0 + s[:, None] * lam[None, :])


@jax.custom_vjp
def spectral_log_likelihood(
    k: Float[Array, "n n"], m: Float[Array, "d d"], y: Float[Array, "n d"]
) -> Float[Array, ""]:
    """log N(vec y; 0, K ⊗ M + I) = -½ Σ Z∘G - ½ Σ log E - (N·d/2) log 2π."""
    return _forward(k, m, y)[0]


def _forward(
    k: Float[Array, "n n"], m: Float[Array, "d d"], y: Float[Array, "n d"]
) -> tuple[Float[Array, ""], Spectrum]:
    spectrum = _spectrum(k, m, y)
    z, e = spectrum.z, spectrum.eigenvalues
    value = -0.5 * ((z * z / e).sum() + jnp.log(e).sum() + z.size * np.log(2.0 * np.pi))
    return value, spectrum


def _backward(
    spectrum: Spectrum, cotangent: Float[Array, ""]
) -> tuple[Float[Array, "n n"], Float[Array, "d d"], Float[Array, "n d"]]:
    """Derivatives that stay finite for repeated eigenvalues, where those of eigh do not.

    dL/dK = ½[U diag(Λ) Uᵀ - V diag(Σ_j Λ_j/E_nj) Vᵀ] with U = VG;
    dL/dM = ½[R Gᵀ diag(S) G Rᵀ - R diag(Σ_n S_n/E_nj) Rᵀ];  dL/dỸ = -V G Rᵀ.
    """
    s, v, lam, r, z, e = spectrum
    g = z / e
    u = v @ g
    dk = 0.5 * ((u * lam) @ u.T - (v * (lam / e).sum(1)) @ v.T)
    dm = 0.5 * r @ (g.T @ (s[:, None] * g) - jnp.diag((s[:, None] / e).sum(0))) @ r.T
    return cotangent * dk, cotangent * dm, -cotangent * (u @ r.T)


spectral_log_likelihood.defvjp(_forward, _backward)


def log_marginal_likelihood(
    params: GPParams, kernel: str, obs: Float[Array, "n o"], actions: Float[Array, "n d"]
) -> Float[Array, ""]:
    """log p(A | S̄): the whitened likelihood minus (N/2) log det D.

    Differentiable in `params`; centre `obs` first, and run it in float64.
    """
    noise = params.noise_variance
    y = (actions - params.mean) / jnp.sqrt(noise)
    whitened = spectral_log_likelihood(
        gram(kernel, obs / params.lengthscales, jnp), params.whitened, y
    )
    return whitened - 0.5 * len(obs) * jnp.log(noise).sum()


class Optimum(NamedTuple):
    """The best vector seen, and the values at the start and there."""

    theta: Vector
    before: float
    after: float


def lbfgs(objective: Objective, start: Vector, steps: int, advance: Advance) -> Optimum:
    """Minimise by L-BFGS-B until it gains no more than 1e-6 of the value in a step."""
    before, _ = _finite(objective(start))
    done = 0

    def guarded(theta: Vector) -> tuple[float, Vector]:
        value, gradient = objective(theta)
        if np.isfinite(value) and np.isfinite(gradient).all():
            return value, gradient
        # A step too far: show the line search a wall, and it comes back.
        return abs(before) + _WALL, np.zeros_like(theta)

    def callback(intermediate_result: OptimizeResult) -> None:
        nonlocal done
        done += 1
        advance(done, f"log likelihood {-intermediate_result.fun:.3f} per point")

    result = minimize(
        guarded,
        start,
        jac=True,
        method="L-BFGS-B",
        bounds=[(x - _RANGE, x + _RANGE) for x in start],
        callback=callback,
        options={"maxiter": steps, "maxcor": 20, "ftol": 1e-6, "gtol": 1e-5},
    )
    return Optimum(result.x, before, float(result.fun))


def adam(
    objective: Objective, start: Vector, steps: int, learning_rate: float, advance: Advance
) -> Optimum:
    """Minimise by Adam and keep the best of all its steps."""
    before, _ = _finite(objective(start))
    theta, best, least = start, start, before
    with jax.enable_x64(True):
        optimiser = optax.adam(learning_rate)
        state = optimiser.init(jnp.asarray(theta))
        for step in range(1, steps + 1):
            value, gradient = _finite(objective(theta))
            if value < least:
                best, least = theta, value
            updates, state = optimiser.update(gradient, state)
            theta = theta + np.asarray(updates)
            advance(step, f"log likelihood {-value:.3f} per point")
    value, _ = objective(theta)
    return Optimum(theta, before, value) if value < least else Optimum(best, before, least)


def _finite(evaluated: tuple[float, Vector]) -> tuple[float, Vector]:
    value, gradient = evaluated
    if not (np.isfinite(value) and np.isfinite(gradient).all()):
        raise UserError(
            "The GP's marginal likelihood is not finite. Look for extreme values in the "
            "demonstrations, or lower `learning_rate` if the optimiser is Adam."
        )
    return value, gradient


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
