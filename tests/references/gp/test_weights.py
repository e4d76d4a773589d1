import numpy as np
import pytest

from nppac.references.gp.kernels import gram
from nppac.references.gp.weights import alike, check_memory, solve_shifted
from nppac.utils.errors import UserError


def test_solves_every_shift_even_without_signal():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(60, 2))
    lam = np.array([0.0, 1e-3, 0.5, 40.0, 1e4, 2e4])
    z = rng.normal(size=(60, 6))
    z[:, 2] = 0.0
    g = solve_shifted("matern12", x, lam, z)
    k = gram("matern12", x)
    for p, shift in enumerate(lam):
        expected = np.linalg.solve(shift * k + np.eye(60), z[:, p])
        np.testing.assert_allclose(g[:, p], expected, atol=1e-8)


def test_repeated_observations_can_be_solved():
    x = np.zeros((30, 1))
    g = solve_shifted("rbf", x, np.array([100.0]), np.ones((30, 1)))
    np.testing.assert_allclose(g, 1.0 / 3001.0, rtol=1e-8)


def test_outputs_share_a_factor_when_their_signals_are_alike():
    groups = alike(np.array([5000.0, 1.0, 80.0, 3000.0]), 100.0)
    assert [sorted(group.tolist()) for group in groups] == [[1, 2], [0, 3]]


def test_too_many_points_are_refused_with_a_remedy():
    with pytest.raises(UserError, match="Use at most"):
        check_memory(10**7)
    check_memory(100)
