"""Proposition 1: the gradient of log π0 explodes as the reference's variance vanishes."""

from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

from nppac.nn.distributions import laplace_log_prob, normal_log_prob
from nppac.reproduce.sources import ComputeBudget, Sources
from nppac.utils.files import write_atomically
from nppac.utils.progress import Advance, silent

ERROR = 0.2
"""Distance |a - μ0| of the action from the reference's mean, held fixed."""
VARIANCES = np.logspace(-4, 0, 33)
COLUMNS = (
    "variance",
    "normal_autodiff",
    "normal_formula",
    "laplace_autodiff",
    "laplace_formula",
)


def compute_proposition(
    path: Path, sources: Sources, budget: ComputeBudget, advance: Advance = silent
) -> tuple[str, ...]:
    """Write a CSV of |∂ log π0 / ∂a| by differentiation and by formula, for both densities."""
    table = gradients(VARIANCES)
    lines = [",".join(COLUMNS)]
    lines += [",".join(repr(float(value)) for value in row) for row in table]
    write_atomically(path, lambda file: file.write(("\n".join(lines) + "\n").encode()))
    return ()


def gradients(variances: np.ndarray) -> np.ndarray:
    """Rows of `COLUMNS`: |a - μ0|/σ0² for a Gaussian, 1/b with 2b² = σ0² for a Laplace density."""
    scale = np.sqrt(variances)
    b = np.sqrt(variances / 2.0)
    with jax.enable_x64(True):
        normal = _autodiff(normal_log_prob, scale)
        laplace = _autodiff(laplace_log_prob, b)
    return np.stack([variances, normal, ERROR / variances, laplace, 1.0 / b], 1)


def _autodiff(log_prob, scale: np.ndarray) -> np.ndarray:
    """|∂ log π0(a) / ∂a| at a - μ0 = `ERROR` for each scale, by automatic differentiation."""

    def one(value):
        gradient = jax.grad(lambda a: log_prob(a, jnp.zeros(1), value[None]))
        return jnp.abs(gradient(jnp.full(1, ERROR)))[0]

    return np.asarray(jax.vmap(one)(jnp.asarray(scale)))


def slope(variances: np.ndarray, gradient: np.ndarray) -> float:
    """Exponent p of |gradient| ∝ σ0^p, by least squares on logarithms."""
    return float(np.polyfit(0.5 * np.log(variances), np.log(gradient), 1)[0])
