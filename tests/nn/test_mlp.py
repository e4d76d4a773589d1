import jax
import jax.numpy as jnp
import numpy as np
import pytest

from nppac.nn.mlp import MLP
from nppac.nn.standardise import Standardiser

KEY = jax.random.key(0)


def test_standardised_inputs_by_hand_and_nobody_trains_the_units():
    plain = MLP(KEY, 3, (8,), 2, 0.1)
    units = Standardiser(np.float64([1.0, -2.0, 0.0]), np.float64([2.0, 4.0, 0.5]))
    network = MLP(KEY, 3, (8,), 2, 0.1, standardise=True)
    x = np.float32([[3.0, 2.0, 1.0], [0.0, 0.0, 0.0]])
    for raw in (x, 1e3 * x):
        np.testing.assert_array_equal(network(raw), plain(raw))  # neutral until units are given
    network = network.with_units(units)
    np.testing.assert_allclose(network(x), plain(units(x)), rtol=1e-6)
    far = np.float32([[1e6, -2.0, 0.0]])
    np.testing.assert_allclose(network(far), plain(np.float32([[10.0, 0.0, 0.0]])), rtol=1e-6)
    slope = jax.grad(lambda n: jnp.sum(n(x) ** 2))(network)
    assert all(np.all(np.asarray(leaf) == 0.0) for leaf in slope.units)
    assert all(np.any(np.asarray(leaf) != 0.0) for leaf in slope.weights)


def test_inputs_of_another_number_are_refused_with_units_too():
    for standardise in (False, True):
        network = MLP(KEY, 3, (8,), 2, 0.1, standardise=standardise)
        for number in (1, 11):
            with pytest.raises(TypeError):
                network(np.zeros((4, number), np.float32))
