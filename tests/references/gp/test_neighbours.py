import numpy as np
import pytest

from nppac.references.gp.kernels import KERNELS
from nppac.references.gp.variance import (
    ExactVariance,
    NeighbourVariance,
    eigendecomposition,
    spread_ranks,
)
from references import dense

LAM = np.array([0.0, 0.1, 30.0, 5e3])


def problem(n=120, queries=40):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(n, 2))
    return x, np.concatenate([x[:queries], x[:queries] + 0.3 * rng.normal(size=(queries, 2))])


def exact(kernel, x, query):
    k = dense.kernel_matrix(kernel, query, x, np.ones(2))
    return ExactVariance(*eigendecomposition(kernel, x), LAM)(k)


def by_neighbours(kernel, x, query, m, lam=LAM):
    variance = NeighbourVariance(kernel, x, lam, m)
    squares = ((query[:, None] - x) ** 2).sum(-1)
    return variance(query, np.argsort(squares, axis=1)[:, : variance.reach])


@pytest.mark.parametrize("kernel", KERNELS)
def test_all_neighbours_equal_exact(kernel):
    x, query = problem()
    variance = by_neighbours(kernel, x, query, 999)
    np.testing.assert_allclose(variance, exact(kernel, x, query), rtol=1e-5)


def test_more_neighbours_never_add_variance():
    x, query = problem()
    least = exact("matern12", x, query)
    previous = np.full_like(least, np.inf)
    for m in (10, 60, 120):
        variance = by_neighbours("matern12", x, query, m)
        assert (variance <= previous * (1 + 1e-5)).all()
        assert (variance >= least * (1 - 1e-9)).all()
        previous = variance


def test_one_neighbour_by_hand():
    x = np.array([[0.0], [5.0]])
    variance = by_neighbours("rbf", x, np.array([[1.0]]), 1, np.array([2.0]))
    k = np.exp(-0.5)
    assert variance[0, 0] == pytest.approx(1 + 2 - 4 * k * k / 3, abs=1e-12)


def test_without_signal_the_noise_remains():
    x, query = problem()
    np.testing.assert_array_equal(by_neighbours("rbf", x, query, 10, np.zeros(1)), 1.0)


@pytest.mark.parametrize(
    ("m", "n"), [(1, 1), (1, 9), (3, 3), (8, 9), (128, 128), (128, 130), (128, 9999)]
)
def test_ranks_are_the_nearest_and_some_further_out(m, n):
    ranks = spread_ranks(m, n)
    near = m - m // 3
    assert len(set(ranks)) == len(ranks) == m
    np.testing.assert_array_equal(ranks[:near], np.arange(near))
    assert ranks.max() == (min(4 * m, n) - 1 if m > 2 else m - 1)


def test_points_further_out_say_more_than_the_next_nearest():
    # Demonstrations: stretches of points that lie close together.
    rng = np.random.default_rng(0)
    starts = rng.normal(size=(40, 1, 6))
    x = (starts + 0.02 * np.arange(50)[:, None] * rng.normal(size=(40, 1, 6))).reshape(-1, 6)
    query = x[::100] + 0.1 * rng.normal(size=(20, 6))
    squares = ((query[:, None] - x) ** 2).sum(-1)
    order = np.argsort(squares, axis=1)

    def variance(chosen):
        return np.mean(
            [exact_one(x[some], state) for some, state in zip(chosen, query, strict=True)]
        )

    assert variance(order[:, spread_ranks(32, len(x))]) < variance(order[:, :32])


def exact_one(x, state):
    k = dense.kernel_matrix("matern12", state[None], x, np.ones(x.shape[1]))
    return ExactVariance(*eigendecomposition("matern12", x), np.array([200.0]))(k)[0, 0]
