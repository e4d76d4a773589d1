import jax
import numpy as np
import pytest

from nppac.agents.common.discrepancy import mmd

KERNELS = ("laplacian", "gaussian")
discrepancy = jax.jit(mmd, static_argnums=(2, 3))
"""As in training; as it is, every operation would be a program of its own."""


@pytest.mark.parametrize("kernel", KERNELS)
def test_the_discrepancy_of_a_set_to_itself_is_its_floor(kernel):
    samples = 3.0 * np.random.default_rng(0).normal(size=(5, 7, 4)).astype(np.float32)
    np.testing.assert_array_equal(discrepancy(samples, samples, kernel, 20.0), np.float32(1e-3))


@pytest.mark.parametrize("kernel", KERNELS)
def test_the_discrepancy_of_zero_and_one(kernel):
    """At distance one both kernels are e^(-1/40)."""
    zero, one = np.zeros((1, 1, 1), np.float32), np.ones((1, 1, 1), np.float32)
    value = discrepancy(zero, one, kernel, 20.0)
    np.testing.assert_allclose(value, [0.22222], atol=1e-5)


@pytest.mark.parametrize("kernel", KERNELS)
def test_the_discrepancy_is_the_textbooks_at_each_state(kernel):
    x, y = np.random.default_rng(0).normal(size=(2, 4, 3, 2)).astype(np.float32)
    power = 1 if kernel == "laplacian" else 2

    def k(a, b):
        return np.mean([[np.exp(-np.sum(np.abs(u - v) ** power) / 10) for u in a] for v in b])

    pairs = [(x[:, i], y[:, i]) for i in range(3)]
    expected = [np.sqrt(k(a, a) + k(b, b) - 2 * k(a, b) + 1e-6) for a, b in pairs]
    np.testing.assert_allclose(discrepancy(x, y, kernel, 5.0), expected, rtol=1e-4)


def test_samples_are_compared_before_or_after_they_are_squashed():
    """3 and 5 are far apart, and the actions 0.9951 and 0.9999 are not."""
    x, y = np.full((1, 1, 1), 3.0, np.float32), np.full((1, 1, 1), 5.0, np.float32)
    for squashed, distance in ((False, 2.0), (True, np.tanh(5.0) - np.tanh(3.0))):
        expected = np.sqrt(2.0 * (1.0 - np.exp(-distance / 40.0)) + 1e-6)
        np.testing.assert_allclose(mmd(x, y, "laplacian", 20.0, squashed), [expected], rtol=1e-3)
