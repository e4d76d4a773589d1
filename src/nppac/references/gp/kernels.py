"""Stationary kernels of unit variance, as functions of the squared distance in lengthscales.

The same lines serve NumPy (queries) and JAX (fitting): `xp` is the array module.
"""

from collections.abc import Callable
from types import ModuleType
from typing import Literal, TypeVar, get_args

import jax
import numpy as np
from jaxtyping import Float

from nppac.utils.errors import unknown_name

KernelName = Literal["rbf", "matern12", "matern32", "matern52"]
KERNELS: tuple[KernelName, ...] = get_args(KernelName)

_TINY = 1e-40
"""Floor under a square root: keeps its derivative finite where two states coincide."""

_BLOCK = 2**16
"""Entries of a block of kernel values: half a megabyte, so that temporaries stay in cache."""

A = TypeVar("A", np.ndarray, jax.Array)
"""An array of NumPy or of JAX."""


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
