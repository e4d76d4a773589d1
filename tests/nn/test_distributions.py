import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from nppac.nn import distributions as d
from nppac.types import ReferenceStats

LOC, SCALE = jnp.array([[0.1, -0.4]]), jnp.array([[0.3, 2.0]])
ACTION = jnp.array([[0.7, 0.2]])


def test_normal_and_laplace_log_prob_match_scipy():
    normal = stats.norm.logpdf(ACTION, LOC, SCALE).sum(-1)
    laplace = stats.laplace.logpdf(ACTION, LOC, SCALE).sum(-1)
    np.testing.assert_allclose(d.normal_log_prob(ACTION, LOC, SCALE), normal, rtol=1e-5)
    np.testing.assert_allclose(d.laplace_log_prob(ACTION, LOC, SCALE), laplace, rtol=1e-5)


def test_uniform_log_prob_is_the_volume_of_the_box():
    assert float(d.uniform_log_prob(jnp.zeros((1, 6)))[0]) == pytest.approx(-4.158883, abs=1e-5)


def test_normal_kl_by_hand_and_by_sampling():
    kl = d.normal_kl(jnp.array([1.0]), jnp.array([1.0]), jnp.array([0.0]), jnp.array([2.0]))
    assert float(kl) == pytest.approx(np.log(2) + (1 + 1) / 8 - 0.5)
    loc, scale = jnp.tile(LOC, (200_000, 1)), jnp.tile(SCALE, (200_000, 1))
    samples = d.normal_sample(jax.random.key(0), loc, scale)
    estimate = d.normal_log_prob(samples, loc, scale) - d.normal_log_prob(samples, 0 * loc, scale)
    exact = d.normal_kl(LOC, SCALE, 0.0 * LOC, SCALE)[0]
    assert float(estimate.mean()) == pytest.approx(float(exact), abs=0.01)


@pytest.mark.parametrize(("family", "loc", "scale", "expected"), [
    ("normal", 0.0, 0.1, 20.0),  # |a - μ| / σ² = 0.2 / 0.01
    ("laplace", 0.0, 0.1, 10.0),  # 1 / b at any distance
    ("uniform", 0.0, 1.0, 0.0),
])  # fmt: skip
def test_gradient_of_the_reference_in_the_action(family, loc, scale, expected):
    reference = ReferenceStats(jnp.array([[loc]]), jnp.array([[scale]]))

    def log_prob(action):
        return d.reference_log_prob(family, reference, action)[0]

    gradient = jax.grad(log_prob)(jnp.array([[0.2]]))
    assert abs(float(gradient[0, 0])) == pytest.approx(expected, rel=1e-5)


def test_tanh_correction_is_the_log_jacobian():
    u = jnp.array([0.3, -1.2])
    jacobian = jax.jacfwd(jnp.tanh)(u)
    exact = np.linalg.slogdet(np.asarray(jacobian))[1]
    assert float(d.tanh_correction(jnp.tanh(u))) == pytest.approx(exact, abs=1e-5)
