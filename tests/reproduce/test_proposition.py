import numpy as np
import pytest

from nppac.reproduce.proposition import VARIANCES, gradients, slope


def test_differentiation_agrees_with_the_formulas():
    _, normal, normal_formula, laplace, laplace_formula = gradients(VARIANCES).T
    np.testing.assert_allclose(normal, normal_formula, rtol=1e-9)
    np.testing.assert_allclose(laplace, laplace_formula, rtol=1e-9)


def test_values_by_hand():
    # |a - μ0| = 0.2, σ0² = 0.01: 20; b = √0.005: 14.142.
    assert gradients(np.array([0.01]))[0] == pytest.approx([0.01, 20, 20, 14.14214, 14.14214])


def test_slopes():
    variance, normal, _, laplace, _ = gradients(VARIANCES).T
    assert slope(variance, normal) == pytest.approx(-2.0, abs=1e-3)
    assert slope(variance, laplace) == pytest.approx(-1.0, abs=1e-3)
