"""Log marginal likelihood of the multi-output GP, without ever building its N·d matrix.

With the noise whitened, Ỹ = (A - m) D^-½ and M = D^-½ B D^-½, the actions' covariance is
K ⊗ M + I. Two small eigendecompositions K = V diag(S) Vᵀ and M = R diag(Λ) Rᵀ diagonalise it: its
eigenvalues are E_nj = 1 + S_n Λ_j, and with Z = Vᵀ Ỹ R and G = Z / E its inverse applied to Ỹ is
V G Rᵀ.
"""

from types import ModuleType
from typing import Any, NamedTuple, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from nppac.references.gp.kernels import gram

EitherArray: TypeAlias = Any
"""Of NumPy in a fitted GP, of JAX while it is fitted (beartype knows no generic named tuples)."""


class GPParams(NamedTuple):
    """Hyper-parameters in natural units: o observation and d action dimensions."""

    lengthscales: EitherArray
    """(o,), in the observation's units."""
    w: EitherArray
    """(d,); the action covariance at one state is B = wwᵀ + diag(v)."""
    v: EitherArray
    """(d,); see `w`."""
    noise: EitherArray
    """(d,), variance of each action's own noise."""
    shared_noise: EitherArray
    """(), variance of the noise that all actions share alike: D = diag(noise + shared_noise)."""
    mean: EitherArray
    """(d,), the prior mean m."""

    @property
    def noise_variance(self) -> EitherArray:
        """The diagonal (d,) of the noise covariance D."""
        return self.noise + self.shared_noise

    @property
    def coregionalisation(self) -> EitherArray:
        """B = wwᵀ + diag(v), (d, d)."""
        xp = _array_module(self.w)
        return xp.outer(self.w, self.w) + xp.diag(self.v)

    @property
    def whitened(self) -> EitherArray:
        """M = D^-½ B D^-½, (d, d)."""
        root = self.noise_variance**0.5
        return self.coregionalisation / root[:, None] / root[None, :]


def _array_module(array: np.ndarray | jax.Array) -> ModuleType:
    return np if isinstance(array, np.ndarray) else jnp


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
    """Return log N(vec y; 0, K ⊗ M + I) = -½ Σ Z∘G - ½ Σ log E - (N·d/2) log 2π."""
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
    """Return log p(A | S̄): the whitened likelihood minus (N/2) log det D.

    Differentiable in `params`; centre `obs` first, and run it in float64.
    """
    noise = params.noise_variance
    y = (actions - params.mean) / jnp.sqrt(noise)
    whitened = spectral_log_likelihood(
        gram(kernel, obs / params.lengthscales, jnp), params.whitened, y
    )
    return whitened - 0.5 * len(obs) * jnp.log(noise).sum()
