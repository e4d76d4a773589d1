"""Predictive variance of a GP with covariance Λ_p κ + I, for many Λ_p at once.

Every output p of the whitened and rotated model is a single GP, so at a state with kernel row
k = κ(s, S̄) its predictive variance, noise included, is

    1 + Λ_p - Λ_p² kᵀ (Λ_p K + I)⁻¹ k.
"""

import numpy as np
import scipy.linalg

from nppac.references.gp.kernels import cross
from nppac.references.gp.weights import check_memory
from nppac.utils.errors import UserError

_NEGLIGIBLE = 1e-5
"""Directions whose signal is this far below the noise are dropped; that only adds variance."""


class ExactVariance:
    """Conditions on all N points through one eigendecomposition K = V diag(S) Vᵀ.

    kᵀ (ΛK + I)⁻¹ k = Σ_i (kᵀV)_i² / (ΛS_i + 1).
    """

    def __init__(self, eigenvalues: np.ndarray, eigenvectors: np.ndarray, lam: np.ndarray):
        keep = eigenvalues * lam.max() > _NEGLIGIBLE
        self._vectors = eigenvectors if keep.all() else eigenvectors[:, keep]
        self._shrinkage = lam**2 / (eigenvalues[keep, None] * lam + 1.0)
        self._prior = 1.0 + lam

    def __call__(self, k: np.ndarray) -> np.ndarray:
        """Variance (n, P), at least 1, at states with kernel rows k (n, N)."""
        projected = k @ self._vectors
        projected *= projected
        return np.maximum(self._prior - projected @ self._shrinkage, 1.0)


def eigendecomposition(kernel: str, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Eigenvalues (N,), none negative, and eigenvectors (N, N) of κ(x, x)."""
    check_memory(len(x), matrices=4)
    matrix = cross(kernel, x, x)
    np.fill_diagonal(matrix, 1.0)
    try:
        s, v = scipy.linalg.eigh(matrix, driver="evd", overwrite_a=True, check_finite=False)
    except np.linalg.LinAlgError as error:
        raise UserError(
            f"The {len(x)} x {len(x)} kernel matrix cannot be decomposed: {error}. Drop repeated "
            "or extreme observations, or use variance='neighbours'."
        ) from error
    return np.maximum(s, 0.0), v
