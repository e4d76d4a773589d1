import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.flatten_util import ravel_pytree

from nppac.agents.common.natural_gradient import fisher_product, natural_step
from nppac.nn.mlp import MLP
from nppac.nn.policies import LinearPolicy

KEY = jax.random.key(0)
OBS = np.random.default_rng(0).normal(size=(30, 2)).astype(np.float32)
ALL = np.ones(30, np.float32)


@jax.jit
def made():
    """A policy and a gradient of its size, by one program."""
    trunk = MLP(KEY, 2, (3,), 2, 0.5, activation=jnp.tanh)
    policy = LinearPolicy(trunk, jnp.array([0.3, -0.5]))
    flat, unravel = ravel_pytree(policy)
    return policy, unravel(jax.random.normal(jax.random.key(1), flat.shape))


@pytest.fixture(scope="module")
def setting():
    return made()


def flat(tree):
    """All numbers of a tree, in the order of `ravel_pytree`."""
    return np.concatenate([np.ravel(leaf) for leaf in jax.tree.leaves(tree)])


@jax.jit
def product_with(policy, gradient, obs, weights, damping):
    return fisher_product(policy, obs, weights, damping)(gradient)


@jax.jit
def step(policy, gradient):
    """A step that is as good as exact."""
    return natural_step(fisher_product(policy, OBS, ALL, 0.1), gradient, 0.05, 60)


@jax.jit
def dense_fisher(policy, damping):
    """F = E_s[Jᵀ Σ⁻¹ J] for the means, 2 for each log σ."""
    flat, unravel = ravel_pytree(policy)
    outputs = jax.vmap(lambda obs: jax.jacobian(lambda p: unravel(p).mode(obs))(flat))(OBS)
    precision = jnp.exp(-2 * policy.log_scale)
    fisher = jnp.einsum("nij,i,nik->jk", outputs, precision, outputs) / len(OBS)
    log_scale = ravel_pytree(jax.tree.map(jnp.zeros_like, policy.trunk))[0]
    diagonal = jnp.concatenate([log_scale, jnp.full(2, 2.0)])
    return fisher + jnp.diag(diagonal) + damping * jnp.eye(len(flat))


def test_products_are_those_with_the_dense_matrix(setting):
    policy, gradient = setting
    ours = flat(product_with(policy, gradient, OBS, ALL, 0.01))
    matrix = np.asarray(dense_fisher(policy, 0.01))
    np.testing.assert_allclose(ours, matrix @ flat(gradient), atol=1e-4)


def test_rows_without_weight_are_not_seen(setting):
    weights = np.append(ALL, np.zeros(3, np.float32))
    obs = np.concatenate([OBS, np.full((3, 2), 50.0, np.float32)])
    ours = flat(product_with(*setting, obs, weights, 0.01))
    theirs = flat(product_with(*setting, OBS, ALL, 0.01))
    np.testing.assert_allclose(ours, theirs, atol=1e-5)


def test_conjugate_gradients_against_a_dense_solve(setting):
    policy, gradient = setting
    _, direction = step(policy, gradient)
    expected = np.linalg.solve(dense_fisher(policy, 0.1), flat(gradient))
    np.testing.assert_allclose(flat(direction), expected, rtol=1e-2, atol=1e-3)


def test_an_exact_step_has_half_a_squared_length_of_delta(setting):
    size, direction = step(*setting)
    moved, matrix = np.asarray(size) * flat(direction), np.asarray(dense_fisher(setting[0], 0.1))
    assert float(0.5 * moved @ matrix @ moved) == pytest.approx(0.025, rel=1e-3)


def test_no_gradient_no_step(setting):
    policy, gradient = setting
    none = jax.tree.map(lambda leaf: np.zeros(leaf.shape, leaf.dtype), gradient)
    size, direction = step(policy, none)
    assert np.isfinite(float(size))
    np.testing.assert_array_equal(flat(direction), 0.0)
