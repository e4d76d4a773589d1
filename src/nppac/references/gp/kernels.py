"""The prior: kernels κ over states, and hyper-parameters that make a prior over actions of one.

Kernels are stationary, of unit variance, and functions of the squared distance in lengthscales. The
same lines serve NumPy (queries) and JAX (fitting): `xp` is the array module.
"""

from collections.abc import Callable
from types import ModuleType
from typing import Any, Literal, NamedTuple, TypeAlias, TypeVar, get_args

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from nppac.utils.errors import unknown_name
from nppac.utils.memory import require_memory, usable_memory

KernelName = Literal["rbf", "matern12", "matern32", "matern52"]
KERNELS: tuple[KernelName, ...] = get_args(KernelName)

_TINY = 1e-40
"""Floor under a square root: keeps its derivative finite where two states coincide."""

_BLOCK = 2**16
"""Entries of a block of kernel values: half a megabyte, so that temporaries stay in cache."""

A = TypeVar("A", np.ndarray, jax.Array)
"""An array of NumPy or of JAX."""
EitherArray: TypeAlias = Any
"""Of NumPy in a fitted GP, of JAX while it is fitted (beartype knows no generic named tuples)."""


def _distance(r2: Float[A, "..."], xp: ModuleType) -> Float[A, "..."]:
    return xp.sqrt(xp.maximum(r2, _TINY))


def rbf(r2: Float[A, "..."], xp: ModuleType = np) -> Float[A, "..."]:
    """κ = exp(-r²/2)."""
    return xp.exp(-0.5 * r2)


def matern12(r2: Float[A, "..."], xp: ModuleType = np) -> Float[A, "..."]:
    """κ = exp(-r)."""
    return xp.exp(-_distance(r2, xp))


def matern32(r2: Float[A, "..."], xp: ModuleType = np) -> Float[A, "..."]:
    """κ = (1 + √3 r) exp(-√3 r)."""
    r = 3**0.5 * _distance(r2, xp)
    return (1.0 + r) * xp.exp(-r)


def matern52(r2: Float[A, "..."], xp: ModuleType = np) -> Float[A, "..."]:
    """κ = (1 + √5 r + 5r²/3) exp(-√5 r)."""
    r = 5**0.5 * _distance(r2, xp)
    return (1.0 + r + r * r / 3.0) * xp.exp(-r)


_FUNCTIONS = {"rbf": rbf, "matern12": matern12, "matern32": matern32, "matern52": matern52}


def kernel_function(kernel: str) -> Callable[[A, ModuleType], A]:
    """The function κ(r²) of that name; its second argument is the array module."""
    if kernel not in _FUNCTIONS:
        raise unknown_name("kernel", kernel, KERNELS)
    return _FUNCTIONS[kernel]


def squared_distances(
    x: Float[A, "n o"], y: Float[A, "m o"], xp: ModuleType = np
) -> Float[A, "n m"]:
    """|x|² + |y|² - 2xy for the rows of x and y, never negative.

    Exact to about 1e-16 times the squares: centre the rows, and stay in float64, because a
    Matérn-½ kernel takes the root of what remains.
    """
    return _expand(_squares(x, xp), _squares(y, xp), x @ y.T, xp)


def _squares(x: Float[A, "n o"], xp: ModuleType) -> Float[A, " n"]:
    return xp.einsum("ij,ij->i", x, x)


def _expand(
    x2: Float[A, " n"], y2: Float[A, " m"], product: Float[A, "n m"], xp: ModuleType
) -> Float[A, "n m"]:
    return xp.maximum(x2[:, None] + y2[None, :] - 2.0 * product, 0.0)


def gram(kernel: str, x: Float[A, "n o"], xp: ModuleType = np) -> Float[A, "n n"]:
    """κ(x, x) with an exact unit diagonal, for rows of x in lengthscales."""
    off_diagonal = 1.0 - xp.eye(len(x), dtype=x.dtype)
    return kernel_function(kernel)(squared_distances(x, x, xp) * off_diagonal, xp)


def cross(
    kernel: str,
    x: Float[np.ndarray, "n o"],
    y: Float[np.ndarray, "m o"],
    out: Float[np.ndarray, "n m"] | None = None,
) -> Float[np.ndarray, "n m"]:
    """κ(x, y) in float64.

    One matrix product for all, then the rest by blocks that stay in the processor's cache.
    """
    function = kernel_function(kernel)
    out = np.empty((len(x), len(y))) if out is None else out
    np.matmul(x, y.T, out=out)
    x2, y2 = _squares(x, np), _squares(y, np)
    rows = max(1, _BLOCK // max(1, len(y)))
    for i in range(0, len(x), rows):
        part = slice(i, i + rows)
        out[part] = function(_expand(x2[part], y2, out[part], np), np)
    return out


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


def rotate_outputs(
    params: GPParams,
) -> tuple[Float[np.ndarray, " d"], Float[np.ndarray, "d d"]]:
    """Eigenvalues Λ, none negative, and eigenvectors R of M = D^-½ B D^-½."""
    lam, rotation = np.linalg.eigh(params.whitened)
    return np.maximum(lam, 0.0), rotation


def prior_variance(params: GPParams) -> Float[np.ndarray, " d"]:
    """Variance of each action far from all demonstrations: diag(B) + D."""
    return params.w**2 + params.v + params.noise_variance


def check_memory(n: int, matrices: int = 1) -> None:
    """Refuse N x N matrices that this machine cannot hold, before it stops responding."""
    most = int((usable_memory() / (8 * matrices)) ** 0.5)
    other = ", or variance='neighbours'." if matrices > 1 else "."
    remedy = f"Use at most {most} of them{other}"
    require_memory(8 * matrices * n * n, f"To condition a GP on {n} points", remedy)
