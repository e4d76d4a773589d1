import numpy as np
import pytest

from nppac.references.gp_variance import ExactVariance, eigendecomposition
from nppac.references.kernels import KERNELS, cross
from nppac.references.neighbours import NeighbourVariance

LAM = np.array([0.0, 0.1, 30.0, 5e3])


def problem(n=120, queries=40):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(n, 2))
    return x, np.concatenate([x[:queries], x[:queries] + 0.3 * rng.normal(size=(queries, 2))])


@pytest.mark.parametrize("kernel", KERNELS)
def test_all_neighbours_equal_exact(kernel):
    x, query = problem()
    k = cross(kernel, query, x)
    exact = ExactVariance(*eigendecomposition(kernel, x), LAM)(k)
    np.testing.assert_allclose(NeighbourVariance(kernel, x, LAM, 999)(k), exact, rtol=1e-5)


def test_more_neighbours_never_add_variance():
    kernel = "matern12"
    x, query = problem()
    k = cross(kernel, query, x)
    exact = ExactVariance(*eigendecomposition(kernel, x), LAM)(k)
    previous = np.full_like(exact, np.inf)
    for m in (10, 60, 120):
        variance = NeighbourVariance(kernel, x, LAM, m)(k)
        assert (variance <= previous * (1 + 1e-5)).all()
        assert (variance >= exact * (1 - 1e-6)).all()
        previous = variance


def test_one_neighbour_by_hand():
    x = np.array([[0.0], [5.0]])
    variance = NeighbourVariance("rbf", x, np.array([2.0]), 1)(cross("rbf", np.array([[1.0]]), x))
    k = np.exp(-0.5)
    assert variance[0, 0] == pytest.approx(1 + 2 - 4 * k * k / 3, abs=1e-12)


def test_without_signal_the_noise_remains():
    x, query = problem()
    variance = NeighbourVariance("rbf", x, np.zeros(1), 10)(cross("rbf", query, x))
    np.testing.assert_array_equal(variance, 1.0)
