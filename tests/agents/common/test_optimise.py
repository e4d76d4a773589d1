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
    assert averages_of_descent(4, window, ratio, True) == pytest.approx(averages, rel=1e-5)


@pytest.mark.parametrize(("window", "last"), [(1, [-6.0, -7.0]), (10**10, [-5 - 1 / 1.2, -20 / 3])])
def test_an_average_that_does_not_count_the_start_reaches_back_over_a_fifth_at_first(window, last):
    averages = averages_of_descent(7, window, 0.0, False)
    assert averages == pytest.approx([-1.0, -2.0, -3.0, -4.0, -5.0, *last], rel=1e-5)


def averages_of_descent(steps, window, ratio, counts_start):
    """The averages of 0, -1, -2 and so on, which Adam makes of a constant gradient."""
    optimiser = with_average(optax.adam(1.0), window, ratio, counts_start)
    params = jnp.zeros(())
    state = optimiser.init(params)
    averages = []
    for _ in range(steps):
        params, state = apply_gradient(optimiser, params, jnp.ones(()), state)
        averages.append(float(state[1].average))
    assert float(params) == pytest.approx(-steps, rel=1e-5)
    return averages
