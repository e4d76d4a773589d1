import numpy as np
import pytest

from nppac.references.gp import variance as gp_variance
from nppac.references.gp.kernels import KERNELS
from nppac.references.gp.variance import ExactVariance, eigendecomposition
from references import dense

LAM = np.array([0.0, 0.1, 30.0, 5e3])


def problem():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(60, 2))
    return x, np.concatenate([x[:10], rng.normal(size=(10, 2)), x[:3] + 100.0])


@pytest.mark.parametrize("kernel", KERNELS)
def test_equals_the_formula(kernel):
    x, states = problem()
    k = dense.kernel_matrix(kernel, states, x, np.ones(2))
    gram = dense.kernel_matrix(kernel, x, x, np.ones(2))
    variance = ExactVariance(*eigendecomposition(kernel, x), LAM)(k)
    for j, lam in enumerate(LAM):
        inverse = np.linalg.inv(lam * gram + np.eye(60))
        expected = 1.0 + lam - lam**2 * np.einsum("qn,nm,qm->q", k, inverse, k)
        np.testing.assert_allclose(variance[:, j], expected, rtol=1e-5)
    np.testing.assert_allclose(variance[-3:], np.tile(1.0 + LAM, (3, 1)))


def test_blocks_of_states_do_not_change_the_answer(monkeypatch):
    x, states = problem()
    variance = ExactVariance(*eigendecomposition("matern32", x), LAM)
    whole = variance.at("matern32", states, x)
    monkeypatch.setattr(gp_variance, "_ENTRIES", 7 * len(x))
    # A product of other sizes may sum in another order; the variance cancels most of its digits.
    np.testing.assert_allclose(variance.at("matern32", states, x), whole, rtol=1e-10)
    assert variance.at("matern32", states[:0], x).shape == (0, 4)


def test_eigenvalues_are_not_negative():
    s, v = eigendecomposition("rbf", np.zeros((20, 1)))
    assert s.min() == 0.0
    np.testing.assert_allclose(v @ np.diag(s) @ v.T, np.ones((20, 20)), atol=1e-12)
