import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import integrate

from nppac.networks import MLP, CriticEnsemble, make_policy

KEY = jax.random.key(0)


def test_initialisation_is_the_authors():
    mlp = MLP(KEY, 5, (256, 64), 3, last=1e-3)
    first, second, last = mlp.weights
    assert float(jnp.abs(first).max()) == pytest.approx(1 / 16, rel=0.01)
    assert float(jnp.abs(second).max()) == pytest.approx(1 / 8, rel=0.01)
    assert float(jnp.abs(last).max()) <= 1e-3
    assert jnp.all(mlp.biases[0] == 0.1)


def test_mlp_by_hand():
    mlp = MLP(KEY, 1, (1,), 1, last=1.0)
    (w0, w1), (b0, b1) = mlp.weights, mlp.biases
    expected = jnp.maximum(2.0 * w0 + b0, 0) * w1 + b1
    np.testing.assert_allclose(mlp(jnp.array([2.0])), expected[0], rtol=1e-6)


def test_tanh_policy_density_integrates_to_one():
    policy = make_policy(KEY, "tanh_normal", 2, 1, (8,))
    obs = jnp.array([[0.3, -0.2]])
    actions, log_probs = jax.vmap(lambda key: policy.sample(obs, key))(jax.random.split(KEY, 4000))
    order = jnp.argsort(actions[:, 0, 0])
    total = integrate.trapezoid(jnp.exp(log_probs[order, 0]), actions[order, 0, 0])
    assert total == pytest.approx(1.0, abs=0.02)
    assert float(jnp.abs(actions).max()) < 1.0


def test_heads_agree_on_the_mode_and_differ_in_range():
    obs = jnp.ones((3, 2))
    tanh, normal = (make_policy(KEY, head, 2, 4, (8,)) for head in ("tanh_normal", "normal"))
    np.testing.assert_allclose(tanh.mode(obs), normal.mode(obs), rtol=1e-6)
    many = jnp.ones((500, 2))
    assert float(jnp.abs(normal.sample(many, KEY)[0]).max()) > 1.0


def test_log_scale_is_clipped():
    policy = make_policy(KEY, "normal", 1, 1, (4,))
    huge = jax.tree.map(lambda x: 1e4 * jnp.ones_like(x), policy)
    assert float(huge.loc_scale(jnp.ones((1, 1)))[1][0, 0]) == pytest.approx(np.exp(2.0), rel=1e-5)


def test_critics_are_independent():
    critic = CriticEnsemble(KEY, 2, 3, 2, (16,))
    q = critic(jnp.ones((5, 3)), jnp.ones((5, 2)))
    assert q.shape == (2, 5)
    assert not jnp.allclose(q[0], q[1])


@pytest.mark.parametrize("head", ["tanh_normal", "normal"])
def test_exploring_without_noise_is_the_mode_and_with_all_of_it_a_sample(head):
    policy, obs = make_policy(KEY, head, 2, 4, (8,)), jnp.ones((3, 2))
    np.testing.assert_allclose(policy.explore(obs, KEY, 0.0), policy.mode(obs), rtol=1e-6)
    np.testing.assert_allclose(policy.explore(obs, KEY, 1.0), policy.sample(obs, KEY)[0], rtol=1e-6)
