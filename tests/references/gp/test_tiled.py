import numpy as np
import pytest

from nppac.references.gp import tiled
from nppac.references.gp.kernels import gram


@pytest.fixture(params=[1, 7, 8, 21, 24])
def points(request, monkeypatch):
    """Fewer points than a tile, whole tiles, and a rest."""
    monkeypatch.setattr(tiled, "SIDE", 8)
    return np.random.default_rng(0).normal(size=(request.param, 2))


def factorised(x, jitter=0.1):
    matrix = np.full((len(x), len(x)), np.nan, order="F")
    assert tiled.factorise("matern32", x, jitter, matrix)
    return matrix, gram("matern32", x)


def test_the_factor_is_below_and_the_kernel_above(points):
    matrix, k = factorised(points)
    factor = np.linalg.cholesky(k + 0.1 * np.eye(len(points)))
    np.testing.assert_allclose(np.tril(matrix), factor, atol=1e-12)
    np.testing.assert_allclose(np.triu(matrix, 1), np.triu(k, 1), atol=1e-15)


def test_solutions_and_products_are_those_of_the_whole_matrix(points):
    matrix, k = factorised(points)
    z = np.random.default_rng(1).normal(size=(len(points), 3))
    expected = np.linalg.solve(k + 0.1 * np.eye(len(points)), z)
    np.testing.assert_allclose(tiled.solve(matrix, z), expected, atol=1e-12)
    np.testing.assert_allclose(tiled.product(matrix, z), k @ z, atol=1e-12)


def test_the_number_of_threads_changes_no_bit(points, monkeypatch):
    z = np.random.default_rng(1).normal(size=(len(points), 3))
    found = []
    for threads in ("1", "2"):
        monkeypatch.setenv("NPPAC_THREADS", threads)
        matrix, _ = factorised(points)
        found.append((matrix, tiled.solve(matrix, z), tiled.product(matrix, z)))
    for one, two in zip(*found, strict=True):
        np.testing.assert_array_equal(one, two)


def test_a_matrix_that_is_not_positive_definite_is_told(monkeypatch):
    monkeypatch.setattr(tiled, "SIDE", 8)
    matrix = np.empty((20, 20), order="F")
    assert not tiled.factorise("rbf", np.zeros((20, 1)), -0.5, matrix)
