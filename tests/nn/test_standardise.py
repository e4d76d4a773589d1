import numpy as np

from nppac.nn.standardise import Standardiser, fit_standardiser


def test_a_state_by_hand():
    units = Standardiser(np.array([1.0, 2.0]), np.array([2.0, 0.5]))
    x = units(np.array([[3.0, 1.0]], np.float32))
    assert x.dtype == np.float32
    np.testing.assert_array_equal(x, [[1.0, -2.0]])


def test_constant_entries_count_in_their_own_unit():
    rng = np.random.default_rng(0)
    obs = rng.normal(size=(160, 3)) * [1.0, 30.0, 0.0] + [0.0, 5.0, 0.1]
    units = fit_standardiser(obs)
    np.testing.assert_allclose(units.spread[2], 1.0)
    x = units(obs)
    np.testing.assert_allclose(x.mean(0), 0.0, atol=1e-5)
    np.testing.assert_allclose(x.std(0), [1.0, 1.0, 0.0], atol=1e-5)
