import numpy as np
import pytest
from sklearn.gaussian_process import kernels as sk

from nppac.references.gp.kernels import (
    KERNELS,
    check_memory,
    cross,
    gram,
    kernel_function,
    squared_distances,
)
from nppac.utils.errors import UserError

ORACLES = {
    "rbf": sk.RBF(1.0),
    "matern12": sk.Matern(1.0, nu=0.5),
    "matern32": sk.Matern(1.0, nu=1.5),
    "matern52": sk.Matern(1.0, nu=2.5),
}


@pytest.mark.parametrize("kernel", KERNELS)
def test_equals_scikit_learn(kernel):
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(20, 3)), rng.normal(size=(30, 3))
    np.testing.assert_allclose(cross(kernel, x, y), ORACLES[kernel](x, y), atol=1e-12)
    np.testing.assert_allclose(gram(kernel, x), ORACLES[kernel](x), atol=1e-12)


def test_blocks_do_not_change_the_result():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(50, 2)), rng.normal(size=(7000, 2))
    whole = kernel_function("matern32")(squared_distances(x, y), np)
    np.testing.assert_allclose(cross("matern32", x, y), whole, rtol=0, atol=1e-14)


def test_coinciding_states_have_unit_correlation():
    x = np.full((3, 2), 0.1) * np.array([1.0, 1e3])
    np.testing.assert_allclose(gram("matern12", x)[np.eye(3) == 1], 1.0, atol=1e-9)
    np.testing.assert_allclose(cross("matern12", x, x), 1.0, atol=1e-5)


def test_unknown_kernel_suggests_the_nearest():
    with pytest.raises(UserError, match="matern52"):
        kernel_function("matern25")


def test_too_many_points_are_refused_with_a_remedy():
    with pytest.raises(UserError, match="Use at most"):
        check_memory(10**7)
    check_memory(100)
