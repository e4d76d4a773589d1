import jax.numpy as jnp
import numpy as np
import pytest

from nppac.agents.common.optimise import mean_magnitude


def test_the_gradients_magnitude_is_the_mean_over_all_numbers_whatever_their_arrays():
    rng = np.random.default_rng(0)
    shapes = [(2, 3, 4), (5, 6), (7,), ()]
    grads = {str(shape): jnp.asarray(rng.normal(size=shape)) for shape in shapes}
    numbers = np.concatenate([array.ravel() for array in grads.values()])
    assert float(mean_magnitude(grads)) == pytest.approx(np.abs(numbers).mean(), rel=1e-6)
