"""Exact predictive variance of a GP with covariance Λ_j κ + I, for many Λ_j at once.

Every output j of the whitened and rotated model is a single GP, so at a state with kernel row
k = κ(s, S̄) its predictive variance, noise included, is

    1 + Λ_j - Λ_j² kᵀ (Λ_j K + I)⁻¹ k.
"""

import numpy as np
import scipy.linalg
from jaxtyping import Float

from nppac.references.gp.kernels import KernelName, cross
from nppac.references.gp.solve import check_memory
from nppac.utils.errors import UserError
from nppac.utils.threads import single_blas_thread

_NEGLIGIBLE = 1e-5
"""Directions whose signal is this far below the noise are dropped; that only adds variance."""
_ENTRIES = 2**22
"""Kernel values held at once: 32 MB."""


class ExactVariance:
    """Conditions on all N points through one eigendecomposition K = V diag(S) Vᵀ.

    kᵀ (ΛK + I)⁻¹ k = Σ_n (kᵀV)_n² / (ΛS_n + 1).
    """

    def __init__(
        self,
        eigenvalues: Float[np.ndarray, " n"],
        eigenvectors: Float[np.ndarray, "n n"],
        lam: Float[np.ndarray, " d"],
    ):
        keep = eigenvalues * lam.max() > _NEGLIGIBLE
        self._vectors = eigenvectors if keep.all() else eigenvectors[:, keep]
        self._shrinkage = lam**2 / (eigenvalues[keep, None] * lam + 1.0)
        self._prior = 1.0 + lam

    def at(
        self,
        kernel: KernelName,
        states: Float[np.ndarray, "q o"],
        x: Float[np.ndarray, "n o"],
    ) -> Float[np.ndarray, "q d"]:
        """Variance at states, for points x; both in lengthscales."""
        rows = max(1, _ENTRIES // len(x))
        parts = (states[i : i + rows] for i in range(0, len(states), rows))
        blocks = [self(cross(kernel, part, x)) for part in parts]
        return np.concatenate(blocks) if blocks else np.empty((0, len(self._prior)))

    def __call__(self, k: Float[np.ndarray, "q n"]) -> Float[np.ndarray, "q d"]:
        """Variance, at least 1, at states with kernel rows k."""
        projected = k @ self._vectors
        projected *= projected
        return np.maximum(self._prior - projected @ self._shrinkage, 1.0)


def eigendecomposition(
    kernel: KernelName, x: Float[np.ndarray, "n o"]
) -> tuple[Float[np.ndarray, " n"], Float[np.ndarray, "n n"]]:
    """Eigenvalues, none negative, and eigenvectors of κ(x, x)."""
    check_memory(len(x), matrices=4)
    matrix = cross(kernel, x, x)
    np.fill_diagonal(matrix, 1.0)
    try:
        with single_blas_thread():
            s, v = scipy.linalg.eigh(matrix, driver="evd", overwrite_a=True, check_finite=False)
    except np.linalg.LinAlgError as error:
        raise UserError(
            f"The {len(x)} x {len(x)} kernel matrix cannot be decomposed: {error}. Drop repeated "
            "or extreme observations, or use variance='neighbours'."
        ) from error
    return np.maximum(s, 0.0), v
