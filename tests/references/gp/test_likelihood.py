import warnings

import jax
import numpy as np
import pytest
from jax.flatten_util import ravel_pytree

from nppac.references.gp.kernels import KERNELS, GPParams
from nppac.references.gp.likelihood import adam, lbfgs, log_marginal_likelihood, units_of
from nppac.utils.errors import UserError
from nppac.utils.progress import silent
from references import dense

TARGET = np.array([1.0, -2.0])

_compiled = jax.jit(jax.value_and_grad(log_marginal_likelihood), static_argnums=1)


def value_and_grad(params, kernel, obs, actions):
    with jax.enable_x64(True):
        value, gradient = _compiled(params, kernel, obs - obs.mean(0), actions)
        return float(value), np.asarray(ravel_pytree(gradient)[0])


@pytest.mark.parametrize("kernel", KERNELS)
def test_equals_dense_algebra(kernel):
    params, obs, actions = dense.make_problem(n=8)
    value, _ = value_and_grad(params, kernel, obs, actions)
    assert value == pytest.approx(dense.log_likelihood(params, kernel, obs, actions), abs=1e-6)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("degenerate", [False, True])
def test_gradient_equals_finite_differences(kernel, degenerate):
    """Also where every eigenvalue of M coincides, and with repeated observations."""
    params, obs, actions = dense.make_problem(n=8)
    if degenerate:
        equal = np.full(4, 0.3)
        params = params._replace(w=np.zeros(4), v=equal, noise=equal)
        obs[1] = obs[0]
    _, gradient = value_and_grad(params, kernel, obs, actions)
    with jax.enable_x64(True):
        vector, unravel = ravel_pytree(params)
    flat, step = np.asarray(vector), 1e-5

    def at(theta):
        with jax.enable_x64(True):
            at_theta = GPParams(*map(np.asarray, unravel(theta)))
        return dense.log_likelihood(at_theta, kernel, obs, actions)

    numeric = [(at(flat + step * e) - at(flat - step * e)) / (2 * step) for e in np.eye(len(flat))]
    np.testing.assert_allclose(gradient, numeric, rtol=2e-5, atol=2e-6)


def test_equals_gpjax():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # at import only, and not ours to mend
        import gpjax as gpx
    params, obs, actions = dense.make_problem(d=1)
    params = params._replace(mean=np.zeros(1))
    signal, noise = params.w[0] ** 2 + params.v[0], params.noise[0] + 0.05
    with jax.enable_x64(True):
        lengthscales = jax.numpy.asarray(params.lengthscales)
        kernel = gpx.kernels.Matern32(lengthscale=lengthscales, variance=float(signal))
        prior = gpx.gps.Prior(mean_function=gpx.mean_functions.Zero(), kernel=kernel)
        likelihood = gpx.likelihoods.Gaussian(obs_stddev=float(noise) ** 0.5)
        data = gpx.Dataset(X=jax.numpy.asarray(obs), y=jax.numpy.asarray(actions))
        theirs = float(gpx.objectives.conjugate_mll(prior * likelihood, data))
    value, _ = value_and_grad(params, "matern32", obs, actions)
    assert value == pytest.approx(theirs, abs=1e-3)


def test_whitened_covariance():
    params = GPParams(
        lengthscales=np.ones(1),
        w=np.array([1.0, 2.0]),
        v=np.array([3.0, 0.0]),
        noise=np.array([3.0, 0.5]),
        shared_noise=np.asarray(1.0),
        mean=np.zeros(2),
    )
    np.testing.assert_allclose(params.coregionalisation, [[4.0, 2.0], [2.0, 4.0]])
    expected = np.array([[1.0, 1.0 / 1.5**0.5], [1.0 / 1.5**0.5, 4.0 / 1.5]])
    np.testing.assert_allclose(params.whitened, expected)


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
