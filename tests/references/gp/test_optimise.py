import numpy as np
import pytest

from nppac.references.gp.optimise import adam, lbfgs, units_of
from nppac.utils.errors import UserError
from nppac.utils.progress import silent

TARGET = np.array([1.0, -2.0])


def quadratic(theta):
    return float(((theta - TARGET) ** 2).sum()) + 1.0, 2.0 * (theta - TARGET)


def with_a_cliff(theta):
    return quadratic(theta) if theta[0] < 1.5 else (np.nan, np.full(2, np.nan))


@pytest.mark.parametrize("objective", [quadratic, with_a_cliff])
def test_lbfgs_finds_the_minimum_even_beside_a_cliff(objective):
    best = lbfgs(objective, np.array([-4.0, 4.0]), 100, silent)
    np.testing.assert_allclose(best.theta, TARGET, atol=1e-2)
    assert best.before == 62.0
    assert best.after == pytest.approx(1.0, abs=1e-4)


def test_adam_keeps_its_best_step():
    best = adam(quadratic, np.zeros(2), 300, 0.1, silent)
    np.testing.assert_allclose(best.theta, TARGET, atol=1e-2)
    overshoot = adam(quadratic, TARGET, 3, 0.1, silent)
    np.testing.assert_array_equal(overshoot.theta, TARGET)
    # The first step of Adam is the learning rate, whatever the gradient.
    np.testing.assert_allclose(adam(quadratic, np.zeros(2), 1, 0.1, silent).theta, [0.1, -0.1])


def test_a_start_that_is_not_finite_is_named():
    for optimise in (lambda o, s: lbfgs(o, s, 5, silent), lambda o, s: adam(o, s, 5, 0.1, silent)):
        with pytest.raises(UserError, match="not finite"):
            optimise(with_a_cliff, np.array([2.0, 0.0]))


def test_constant_observations_count_in_their_own_unit():
    rounded = np.nextafter(np.float32(0.1), [0, 1, 0, 1], dtype=np.float32)
    obs = np.stack([np.arange(4.0), rounded, np.zeros(4)], axis=1)
    units = units_of(obs, np.zeros((4, 1)))
    np.testing.assert_allclose(units.obs / 3**0.5, [np.arange(4.0).std(), 1.0, 1.0])
    np.testing.assert_allclose(units.action, 0.01)
