import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.flatten_util import ravel_pytree

from nppac.agents.common.natural_gradient import fisher_product, natural_step
from nppac.nn.mlp import MLP
from nppac.nn.policies import LinearPolicy

KEY = jax.random.key(0)
OBS = jax.random.normal(KEY, (30, 2))
POLICY = LinearPolicy(MLP(KEY, 2, (3,), 2, 0.5, activation=jnp.tanh), jnp.array([0.3, -0.5]))
FLAT, UNRAVEL = ravel_pytree(POLICY)
GRADIENT = UNRAVEL(jax.random.normal(jax.random.key(1), FLAT.shape))


@jax.jit
def dense_fisher(damping):
    """F = E_s[Jᵀ Σ⁻¹ J] for the means, 2 for each log σ."""
    outputs = jax.vmap(lambda obs: jax.jacobian(lambda p: UNRAVEL(p).mode(obs))(FLAT))(OBS)
    precision = jnp.exp(-2 * POLICY.log_scale)
    fisher = jnp.einsum("nij,i,nik->jk", outputs, precision, outputs) / len(OBS)
    log_scale = ravel_pytree(jax.tree.map(jnp.zeros_like, POLICY.trunk))[0]
    diagonal = jnp.concatenate([log_scale, jnp.full(2, 2.0)])
    return fisher + jnp.diag(diagonal) + damping * jnp.eye(len(FLAT))


def test_products_are_those_with_the_dense_matrix():
    product = fisher_product(POLICY, OBS, jnp.ones(30), 0.01)
    ours = ravel_pytree(jax.jit(product)(GRADIENT))[0]
    np.testing.assert_allclose(ours, dense_fisher(0.01) @ ravel_pytree(GRADIENT)[0], atol=1e-4)


def test_rows_without_weight_are_not_seen():
    weights = jnp.ones(33).at[30:].set(0.0)
    obs = jnp.concatenate([OBS, jnp.full((3, 2), 50.0)])
    ours = ravel_pytree(fisher_product(POLICY, obs, weights, 0.01)(GRADIENT))[0]
    theirs = ravel_pytree(fisher_product(POLICY, OBS, jnp.ones(30), 0.01)(GRADIENT))[0]
    np.testing.assert_allclose(ours, theirs, atol=1e-5)


def test_conjugate_gradients_against_a_dense_solve():
    product = fisher_product(POLICY, OBS, jnp.ones(30), 0.1)
    _, direction = natural_step(product, GRADIENT, 0.05, 60)
    expected = jnp.linalg.solve(dense_fisher(0.1), ravel_pytree(GRADIENT)[0])
    np.testing.assert_allclose(ravel_pytree(direction)[0], expected, rtol=1e-2, atol=1e-3)


def test_an_exact_step_has_half_a_squared_length_of_delta():
    product = fisher_product(POLICY, OBS, jnp.ones(30), 0.1)
    size, direction = natural_step(product, GRADIENT, 0.05, 60)
    step = size * ravel_pytree(direction)[0]
    assert float(0.5 * step @ dense_fisher(0.1) @ step) == pytest.approx(0.025, rel=1e-3)


def test_no_gradient_no_step():
    product = fisher_product(POLICY, OBS, jnp.ones(30), 0.1)
    size, direction = natural_step(product, jax.tree.map(jnp.zeros_like, GRADIENT), 0.05, 10)
    assert np.isfinite(float(size))
    np.testing.assert_array_equal(ravel_pytree(direction)[0], 0.0)
