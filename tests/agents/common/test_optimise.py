import jax.numpy as jnp
import numpy as np
import optax
import pytest

from nppac.agents.common.optimise import apply_gradient, mean_magnitude, with_average


def test_the_gradients_magnitude_is_the_mean_over_all_numbers_whatever_their_arrays():
    rng = np.random.default_rng(0)
    shapes = [(2, 3, 4), (5, 6), (7,), ()]
    grads = {str(shape): jnp.asarray(rng.normal(size=shape)) for shape in shapes}
    numbers = np.concatenate([array.ravel() for array in grads.values()])
    assert float(mean_magnitude(grads)) == pytest.approx(np.abs(numbers).mean(), rel=1e-6)


@pytest.mark.parametrize(
    ("window", "ratio", "averages"),
    [
        (2, 0.0, [-1 / 2, -5 / 4, -17 / 8, -49 / 16]),
        (2, 0.75, [-1 / 2, -5 / 4, -73 / 36, -145 / 54]),
    ],
)
def test_an_average_reaches_back_over_a_window_that_may_grow_with_the_steps(
    window, ratio, averages
):
    optimiser = with_average(optax.adam(1.0), window, ratio)  # a constant gradient: steps of -1
    params = jnp.zeros(())
    state = optimiser.init(params)
    for average in averages:
        params, state = apply_gradient(optimiser, params, jnp.ones(()), state)
        assert float(state[1].average) == pytest.approx(average, rel=1e-5)
    assert float(params) == pytest.approx(-4.0, rel=1e-5)
