from functools import partial

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from nppac.nn.distributions import reference_log_prob
from nppac.nn.mlp import MLP
from nppac.references.neural.config import NetworkConfig
from nppac.references.neural.model import (
    DensityNetworks,
    forward,
    inverted,
    losses,
    match_moments,
    objective,
    sample,
    scale_of,
    tuned_bonus,
    variance_of_raw,
)
from nppac.types import ReferenceStats

COLLAPSED = jnp.array([[-100.0]])
"""Output of a variance's network for one action: what is left is all floor."""


def density(raw, config):
    scale = scale_of(config.objective.family, variance_of_raw(raw, config.floor))
    return ReferenceStats(jnp.full_like(scale, 0.3), scale)


def gradient_norm(config, distance):
    stats = density(COLLAPSED, config)
    log_prob = lambda a: reference_log_prob(config.objective.family, stats, a).sum()  # noqa: E731
    return float(jnp.abs(jax.grad(log_prob)(stats.loc + distance))[0, 0])


def test_gradient_of_a_collapsed_gaussian():
    assert gradient_norm(NetworkConfig(), 0.2) == pytest.approx(20.0, rel=1e-5)


@pytest.mark.parametrize("distance", [0.05, 0.2, 3.0])
def test_gradient_of_a_laplace_is_the_same_at_any_distance(distance):
    config = NetworkConfig(family="laplace", variance_floor=0.02)
    assert gradient_norm(config, distance) == pytest.approx(10.0, rel=1e-5)


def test_floor_holds():
    assert float(density(COLLAPSED, NetworkConfig()).scale[0, 0]) == pytest.approx(0.1)
    laplace = density(COLLAPSED, NetworkConfig(family="laplace"))
    assert float(laplace.scale[0, 0]) == pytest.approx(0.0707, abs=1e-4)
    assert 0.0 < float(density(COLLAPSED, NetworkConfig(variance_floor=0.0)).scale[0, 0]) < 1e-3


@pytest.mark.parametrize("family", ["normal", "laplace"])
def test_both_families_have_the_variance_that_the_network_gives(family):
    config = NetworkConfig(family=family, variance_floor=0.0)
    stats = density(jnp.zeros((20000, 2)), config)
    drawn = sample(jax.random.key(0), family, stats)
    assert float(drawn.var()) == pytest.approx(np.log(2.0), rel=0.05)
    if family == "laplace":
        np.testing.assert_allclose(2.0 * stats.scale**2, np.log(2.0), rtol=1e-6)


def make_networks():
    mean, variance = (MLP(jax.random.key(k), 3, (4, 4), 2, 0.5) for k in range(2))
    return DensityNetworks(mean, variance)


@partial(jax.jit, static_argnames="config")
def slope(networks, config, bonus=0.0):
    rng = np.random.default_rng(0)
    data = (jnp.asarray(rng.normal(size=(5, 3))), jnp.asarray(rng.normal(size=(5, 2))))
    arguments = (jnp.asarray(bonus), *data, jax.random.key(1), config.objective)
    return jax.grad(objective, has_aux=True)(networks, *arguments)[0]


@pytest.mark.parametrize("part", ["mean", "variance"])
def test_dead_parameters_decay_at_twice_lambda_of_themselves(part):
    networks = make_networks()
    dead = eqx.tree_at(lambda n: getattr(n, part).biases[0], networks, jnp.full((4,), -100.0))
    slopes = [slope(dead, NetworkConfig(tikhonov=weight)) for weight in (1e-2, 0.0)]
    dead, decayed, free = (getattr(one, part) for one in (dead, *slopes))
    for layer in (dead.weights[0], dead.biases[0], dead.weights[1]):
        assert jnp.abs(layer).sum() > 0
    np.testing.assert_array_equal(free.weights[0], 0.0)
    np.testing.assert_allclose(decayed.weights[0], 0.02 * dead.weights[0], rtol=1e-6)
    np.testing.assert_allclose(decayed.biases[0], 0.02 * dead.biases[0], rtol=1e-6)
    np.testing.assert_allclose(decayed.weights[1], 0.02 * dead.weights[1], rtol=1e-6)
    live = jax.tree.map(lambda a, b: a - b, decayed, free)
    np.testing.assert_allclose(live.biases[2], 0.02 * dead.biases[2], rtol=1e-3, atol=1e-5)


def test_entropy_bonus_widens_and_leaves_the_mean_alone():
    networks = make_networks()
    plain = slope(networks, NetworkConfig())
    bonus = slope(networks, NetworkConfig(entropy_bonus=0.5), bonus=0.5)
    np.testing.assert_array_equal(bonus.mean.biases[2], plain.mean.biases[2])
    assert (bonus.variance.biases[2] < plain.variance.biases[2]).all()


@pytest.mark.parametrize("family", ["normal", "laplace"])
def test_the_mean_feels_squared_errors_only(family):
    """The variance's network may say what it will: the slope of the mean is a regression's."""
    networks = make_networks()
    other = eqx.tree_at(lambda n: n.variance.biases[-1], networks, jnp.array([5.0, -5.0]))
    first, second = (slope(n, NetworkConfig(family=family)).mean for n in (networks, other))
    for a, b in zip(jax.tree.leaves(first), jax.tree.leaves(second), strict=True):
        np.testing.assert_array_equal(a, b)


def test_objective_by_hand():
    """μ = 0.3 in both actions of one step (0.4, 0.1): squares 0.01 and 0.04; σ² = log 2 + 0.01."""
    zero = jax.tree.map(jnp.zeros_like, make_networks())
    networks = eqx.tree_at(lambda n: n.mean.biases[-1], zero, jnp.full(2, 0.3))
    x, actions, settings = jnp.ones((1, 3)), jnp.array([[0.4, 0.1]]), NetworkConfig().objective
    variance = np.log(2.0) + 0.01
    nll = 0.05 / (2 * variance) + np.log(2 * np.pi * variance)
    value, terms = objective(networks, jnp.zeros(()), x, actions, jax.random.key(0), settings)
    assert float(terms.error) == pytest.approx(0.025, rel=1e-5)
    assert float(terms.nll) == pytest.approx(nll, rel=1e-5)
    assert float(value) == pytest.approx(0.05 / 0.02 + nll, rel=1e-5)
    held = losses(networks, x, actions, settings)
    assert [float(term) for term in held] == pytest.approx([0.025, nll, 0.0], rel=1e-5)
    penalised = settings._replace(tikhonov=0.5)
    more, _ = objective(networks, jnp.zeros(()), x, actions, jax.random.key(0), penalised)
    assert float(more - value) == pytest.approx(0.5 * 0.18, rel=1e-4)


def stepped(bonus, entropy, settings):
    return float(tuned_bonus(jnp.asarray(bonus), jnp.asarray(entropy), 2, settings))


def test_tuned_bonus_follows_the_entropy():
    config = NetworkConfig(entropy_bonus="tuned", entropy_step=0.1).objective
    assert stepped(1.0, 0.0, config) == pytest.approx(0.9)  # H - H̄ = d
    assert stepped(1.0, -4.0, config) == pytest.approx(1.1)
    assert stepped(0.05, 0.0, config) == 0.0
    other = config._replace(entropy_target=2.0)
    assert stepped(1.0, 0.0, other) == pytest.approx(1.2)


def test_moments_of_a_mixture():
    loc, variance = match_moments(jnp.array([0.0, 2.0]), jnp.array([1.0, 1.0]), 0.0)
    assert (float(loc), float(variance)) == (1.0, 2.0)
    assert float(match_moments(jnp.zeros(2), jnp.full(2, 1e-3), 1e-2)[1]) == pytest.approx(1e-2)


def test_moments_survive_large_means():
    _, variance = match_moments(jnp.full(3, 3000.0), jnp.full(3, 0.01), 0.0)
    assert float(variance) == pytest.approx(0.01, rel=1e-5)


def test_masks_silence_units():
    network, x = make_networks().mean, jnp.ones((2, 3))
    ones, none = (jnp.ones(4), jnp.ones(4)), (jnp.ones(4), jnp.zeros(4))
    np.testing.assert_array_equal(forward(network, x, ones), network(x))
    np.testing.assert_array_equal(forward(network, x, none)[0], network.biases[-1])


def test_masks_keep_the_expectation():
    (mask,) = inverted((np.array([True] * 9 + [False]),), 0.1)
    assert float(jnp.mean(mask)) == pytest.approx(1.0)
    assert inverted(None, 0.1) is None
