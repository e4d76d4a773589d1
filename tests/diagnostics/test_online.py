import numpy as np
import pytest

from nppac.diagnostics.online import OnlinePolicy, gradient_met, kl_met, variance_of

POLICY = OnlinePolicy(shift=0.2, scale=0.2)


def test_variance_of_each_family():
    scale = np.array([[0.1, 2.0]])
    np.testing.assert_allclose(variance_of("normal", scale), [[0.01, 4.0]])
    np.testing.assert_allclose(variance_of("laplace", scale), [[0.02, 8.0]])
    np.testing.assert_allclose(variance_of("uniform", np.ones((1, 1))), [[1 / 3]])


def test_kl_to_a_normal_by_hand():
    # Per dimension log(0.1/0.2) + (0.04 + 0.04)/0.02 - ½ = -0.693147 + 4 - 0.5.
    kl = kl_met("normal", np.full((3, 28), 0.1), POLICY)
    np.testing.assert_allclose(kl, 28 * 2.806853, rtol=1e-6)
    same = OnlinePolicy(shift=0.0, scale=0.1)
    np.testing.assert_allclose(kl_met("normal", np.full((1, 5), 0.1), same), 0.0, atol=1e-12)


def test_gradient_of_a_normal_by_hand():
    # √(0.04 + 0.04) / 0.01 = 28.284 in one dimension, twice as much in four.
    one = gradient_met("normal", np.full((1, 1), 0.1), POLICY)
    four = gradient_met("normal", np.full((1, 4), 0.1), POLICY)
    np.testing.assert_allclose([*one, *four], [28.28427, 56.56854], rtol=1e-6)


def test_laplace_has_one_gradient_everywhere():
    np.testing.assert_allclose(gradient_met("laplace", np.full((1, 1), 0.1), POLICY), 10.0)
    np.testing.assert_allclose(gradient_met("laplace", np.full((1, 4), 0.1), POLICY), 20.0)


def test_kl_to_a_laplace_agrees_with_sampling():
    b, rng = 0.15, np.random.default_rng(0)
    a = POLICY.shift + POLICY.scale * rng.normal(size=400_000)
    log_policy = -0.5 * ((a - 0.2) / 0.2) ** 2 - np.log(0.2 * np.sqrt(2 * np.pi))
    sampled = np.mean(log_policy + np.abs(a) / b + np.log(2 * b))
    assert kl_met("laplace", np.array([[b]]), POLICY)[0] == pytest.approx(sampled, abs=0.01)


def test_uniform_pulls_nowhere():
    scale = np.ones((2, 3))
    np.testing.assert_array_equal(gradient_met("uniform", scale, POLICY), 0.0)
    expected = 3 * (np.log(2) - 0.5 * np.log(2 * np.pi * np.e * 0.04))
    np.testing.assert_allclose(kl_met("uniform", scale, POLICY), expected)
