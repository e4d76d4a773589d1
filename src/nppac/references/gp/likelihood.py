"""Log marginal likelihood of the multi-output GP, without ever building its N·P matrix.

With the noise whitened, Ỹ = (A - m) D^-½ and M = D^-½ B D^-½, the actions' covariance is
K ⊗ M + I. Two small eigendecompositions K = V diag(S) Vᵀ and M = R diag(Λ) Rᵀ diagonalise it:
with Z = Vᵀ Ỹ R, d_ip = 1 + S_i Λ_p and G = Z / d, its inverse applied to Ỹ is V G Rᵀ.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from nppac.references.gp.kernels import gram


class GPParams(NamedTuple):
    """Hyper-parameters in natural units: o observation and P action dimensions."""

    lengthscales: Any
    """(o,), in the observation's units."""
    w: Any
    """(P,): the action covariance at one state is B = wwᵀ + diag(v)."""
    v: Any
    """(P,)."""
    noise: Any
    """(P,), variance of each action's own noise."""
    shared_noise: Any
    """Variance of the noise that all actions have in equal measure: D = diag(noise + shared)."""
    mean: Any
    """(P,), the prior mean m."""

    @property
    def noise_variance(self) -> Any:
        """D, the diagonal (P,) of the noise covariance."""
        return self.noise + self.shared_noise

    @property
    def coregionalisation(self) -> Any:
        """B = wwᵀ + diag(v), (P, P)."""
        xp: Any = np if isinstance(self.w, np.ndarray) else jnp
        return xp.outer(self.w, self.w) + xp.diag(self.v)

    @property
    def whitened(self) -> Any:
        """M = D^-½ B D^-½, (P, P)."""
        root = self.noise_variance**0.5
        return self.coregionalisation / root[:, None] / root[None, :]


def _spectrum(k: Any, m: Any, y: Any) -> tuple[Any, ...]:
    s, v = jnp.linalg.eigh(k)
    lam, r = jnp.linalg.eigh(m)
    s, lam = jnp.maximum(s, 0.0), jnp.maximum(lam, 0.0)
    z = v.T @ y @ r
    return s, v, lam, r, z, 1.0 + s[:, None] * lam[None, :]


@jax.custom_vjp
def spectral_log_likelihood(k: Any, m: Any, y: Any) -> Any:
    """Return log N(vec y; 0, K ⊗ M + I) for K (N, N), M (P, P) and y (N, P).

    L = -½ Σ Z∘G - ½ Σ log d - (NP/2) log 2π.
    """
    return _forward(k, m, y)[0]


def _forward(k: Any, m: Any, y: Any) -> tuple[Any, tuple[Any, ...]]:
    s, v, lam, r, z, d = _spectrum(k, m, y)
    value = -0.5 * ((z * z / d).sum() + jnp.log(d).sum() + z.size * np.log(2.0 * np.pi))
    return value, (s, v, lam, r, z, d)


def _backward(residuals: tuple[Any, ...], cotangent: Any) -> tuple[Any, Any, Any]:
    """Derivatives that stay finite for repeated eigenvalues, where those of eigh do not.

    dL/dK = ½[U diag(Λ) Uᵀ - V diag(Σ_p Λ_p/d_ip) Vᵀ] with U = VG;
    dL/dM = ½[R Gᵀ diag(S) G Rᵀ - R diag(Σ_i S_i/d_ip) Rᵀ];  dL/dY = -V G Rᵀ.
    """
    s, v, lam, r, z, d = residuals
    g = z / d
    u = v @ g
    dk = 0.5 * ((u * lam) @ u.T - (v * (lam / d).sum(1)) @ v.T)
    dm = 0.5 * r @ (g.T @ (s[:, None] * g) - jnp.diag((s[:, None] / d).sum(0))) @ r.T
    return cotangent * dk, cotangent * dm, -cotangent * (u @ r.T)


spectral_log_likelihood.defvjp(_forward, _backward)


def log_marginal_likelihood(params: GPParams, kernel: str, obs: Any, actions: Any) -> Any:
    """Return log p(A | S̄) of actions (N, P) at observations (N, o).

    That is the whitened one minus (N/2) log det D.

    Differentiable in `params`; centre `obs` first, and run it in float64.
    """
    noise = params.noise_variance
    y = (actions - params.mean) / jnp.sqrt(noise)
    whitened = spectral_log_likelihood(
        gram(kernel, obs / params.lengthscales, jnp), params.whitened, y
    )
    return whitened - 0.5 * len(obs) * jnp.log(noise).sum()
