import numpy as np
import pytest

from nppac.references.gp.kernels import KERNELS, cross
from nppac.references.gp.mean import TiledMean


def problem(n=5000, queries=20, o=3, d=2):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(n, o))
    return x, 100.0 * rng.normal(size=(n, d)), rng.normal(size=(queries, o))


@pytest.mark.parametrize("kernel", KERNELS)
def test_mean_equals_a_product_with_the_whole_kernel(kernel):
    x, weights, query = problem()
    mean = TiledMean(kernel, x, weights).mean(query)
    np.testing.assert_allclose(mean, cross(kernel, query, x) @ weights, atol=1e-8)


@pytest.mark.parametrize(("n", "m"), [(5000, 64), (5000, 2000), (30, 30), (200, 1)])
def test_nearest_are_the_nearest(n, m):
    x, weights, query = problem(n)
    mean, nearest = TiledMean("matern32", x, weights).mean_and_nearest(query, m)
    squares = ((query[:, None] - x) ** 2).sum(-1)
    found = np.take_along_axis(squares, nearest, axis=1)
    # Distances are compared in float32: near ties may go either way.
    np.testing.assert_allclose(found, np.sort(squares, axis=1)[:, :m], rtol=1e-5, atol=1e-6)
    assert all(len(set(row)) == m for row in nearest.tolist())
    np.testing.assert_allclose(mean, cross("matern32", query, x) @ weights, atol=1e-8)


def test_repeated_and_far_points_are_found_once():
    x = np.zeros((300, 1))
    tiled = TiledMean("rbf", x, np.ones((300, 1)))
    for state in (0.0, 1e30):
        _, nearest = tiled.mean_and_nearest(np.full((2, 1), state), 40)
        assert all(len(set(row)) == 40 and max(row) < 300 for row in nearest.tolist())


def test_number_of_states_does_not_matter():
    x, weights, query = problem(400, 150)
    tiled = TiledMean("rbf", x, weights)
    whole, nearest = tiled.mean_and_nearest(query, 5)
    for part in (slice(0, 1), slice(7, 20), slice(0, 0)):
        some, near = tiled.mean_and_nearest(query[part], 5)
        np.testing.assert_allclose(some, whole[part], atol=1e-9)
        np.testing.assert_array_equal(near, nearest[part])
        np.testing.assert_allclose(tiled.mean(query[part]), whole[part], atol=1e-9)
