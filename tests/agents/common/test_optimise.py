import jax.numpy as jnp
import numpy as np
import optax
import pytest

from nppac.agents.common.optimise import mean_magnitude, with_average


def test_the_gradients_magnitude_is_the_mean_over_all_numbers_whatever_their_arrays():
    rng = np.random.default_rng(0)
    shapes = [(2, 3, 4), (5, 6), (7,), ()]
    grads = {str(shape): jnp.asarray(rng.normal(size=shape)) for shape in shapes}
    numbers = np.concatenate([array.ravel() for array in grads.values()])
    assert float(mean_magnitude(grads)) == pytest.approx(np.abs(numbers).mean(), rel=1e-6)


def averages_of(window, steps):
    """The average after each of so many steps of a parameter that grows by 1 a step from 0."""
    optimiser = with_average(optax.chain(optax.scale_by_adam(), optax.set_to_zero()), window)
    params, found = jnp.zeros(()), []
    state = optimiser.init(params)
    for _ in range(steps):
        _, state = optimiser.update(jnp.ones(()), state, params + 1.0)
        params = params + 1.0
        found.append(float(optax.tree_utils.tree_get(state, "average")))
    return found


def test_a_young_average_spans_a_part_of_the_updates():
    found = averages_of(window=1_000, steps=2)
    first = 4 / 5 * 1.0
    np.testing.assert_allclose(found, [first, first + 4 / 6 * (2.0 - first)], rtol=1e-6)


def test_an_old_average_lags_by_its_number_of_updates():
    found = averages_of(window=10, steps=400)
    assert 400 - found[-1] == pytest.approx(9.0, abs=1e-3)
