import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import integrate

from nppac.nn.critics import CriticEnsemble
from nppac.nn.mlp import MLP, layer_normalised
from nppac.nn.policies import ConstantScalePolicy, LinearPolicy, make_policy

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


def test_clipped_actions_are_judged_as_the_environment_takes_them():
    free = CriticEnsemble(KEY, 2, 3, 2, (16,))
    clipping = CriticEnsemble(KEY, 2, 3, 2, (16,), clip_actions=True)
    obs, outside = jnp.ones((1, 3)), jnp.array([[1.7, -3.0]])
    np.testing.assert_array_equal(clipping(obs, outside), free(obs, jnp.array([[1.0, -1.0]])))
    assert not jnp.allclose(free(obs, outside), clipping(obs, outside))
    slope = jax.grad(lambda a: jnp.sum(clipping(obs, a)))
    assert not slope(outside).any()  # nothing changes beyond the box
    assert slope(jnp.array([[0.5, -0.5]])).all()


@pytest.mark.parametrize("head", ["tanh_normal", "normal", "constant_scale"])
def test_exploring_without_noise_is_the_mode_and_with_all_of_it_a_sample(head):
    policy, obs = make_policy(KEY, head, 2, 4, (8,)), jnp.ones((3, 2))
    np.testing.assert_allclose(policy.explore(obs, KEY, 0.0), policy.mode(obs), rtol=1e-6)
    np.testing.assert_allclose(policy.explore(obs, KEY, 1.0), policy.sample(obs, KEY)[0], rtol=1e-6)


@eqx.filter_jit
def called(network, *args):
    """The networks' answer by one program, which is compiled once for all networks of a kind."""
    return network(*args)


@pytest.mark.parametrize("hidden", [(), (8,), (8, 6), (8, 6, 4)])
@pytest.mark.parametrize("layer_norm", [False, True])
def test_every_critic_says_what_it_would_say_alone(hidden, layer_norm):
    critic = CriticEnsemble(KEY, 3, 2, 1, hidden, layer_norm)
    for shape in ((), (5,), (4, 5)):
        obs = jax.random.normal(KEY, (*shape, 2))
        action = jax.random.normal(jax.random.key(1), (*shape, 1))
        values = called(critic, obs, action)
        assert values.shape == (3, *shape)
        for i in range(3):
            member = jax.tree.map(lambda stacked, i=i: stacked[i], critic.members)
            alone = called(member, jnp.concatenate([obs, action], -1))[..., 0]
            np.testing.assert_allclose(values[i], alone, rtol=1e-5, atol=1e-6)


def test_standardized_rows_are_those_of_jax_and_so_are_their_gradients():
    x = 3.0 + jax.random.normal(KEY, (2, 5, 64))
    theirs = jax.nn.standardize(x, epsilon=1e-6)
    np.testing.assert_allclose(layer_normalised(x), theirs, atol=1e-5)
    grads = [
        jax.grad(lambda x, f=f: jnp.sum(jnp.sin(3.0 * f(x))))(x)
        for f in (layer_normalised, lambda x: jax.nn.standardize(x, epsilon=1e-6))
    ]
    np.testing.assert_allclose(*grads, atol=1e-4)


def test_layer_norm_by_hand():
    """Two hidden values x: standardised to ±1, scaled, shifted, then cut at zero."""
    mlp = MLP(KEY, 1, (2,), 1, last=1.0, layer_norm=True)
    mlp = eqx.tree_at(lambda m: m.weights[0], mlp, jnp.array([[3.0, -5.0]]))
    mlp = eqx.tree_at(lambda m: m.norms[0], mlp, (jnp.array([2.0, 7.0]), jnp.array([0.5, 8.0])))
    expected = jnp.array([2.0 * 1 + 0.5, 7.0 * -1 + 8.0]) @ mlp.weights[1] + mlp.biases[1]
    np.testing.assert_allclose(mlp(jnp.array([1.0])), expected, rtol=1e-4)


def test_layer_norm_is_there_in_hidden_layers_only_and_starts_neutral():
    mlp = MLP(KEY, 3, (16, 8), 2, last=1.0, layer_norm=True)
    assert [scale.shape for scale, _ in mlp.norms] == [(16,), (8,)]
    assert all(bool((scale == 1).all() and (shift == 0).all()) for scale, shift in mlp.norms)
    assert MLP(KEY, 3, (16, 8), 2, last=1.0).norms == ()
    x = jax.random.normal(KEY, (5, 3))
    hidden = x @ mlp.weights[0] + mlp.biases[0]
    centred = hidden - hidden.mean(-1, keepdims=True)
    normed = centred / jnp.sqrt(hidden.var(-1, keepdims=True) + 1e-6)
    np.testing.assert_allclose(normed.mean(-1), 0, atol=1e-5)
    hidden = jnp.maximum(normed, 0) @ mlp.weights[1] + mlp.biases[1]
    centred = hidden - hidden.mean(-1, keepdims=True)
    normed = centred / jnp.sqrt(hidden.var(-1, keepdims=True) + 1e-6)
    expected = jnp.maximum(normed, 0) @ mlp.weights[2] + mlp.biases[2]
    np.testing.assert_allclose(mlp(x), expected, rtol=1e-3, atol=1e-5)


def test_each_critic_normalises_by_itself():
    critic = CriticEnsemble(KEY, 3, 2, 1, (8,), layer_norm=True)
    obs, action = jnp.ones((4, 2)), jnp.ones((4, 1))
    (scale, shift) = critic.members.norms[0]
    assert scale.shape == shift.shape == (3, 8)
    alone = [jax.tree.map(lambda x, i=i: x[i], critic.members) for i in range(3)]
    each = jnp.stack([member(jnp.ones((4, 3)))[..., 0] for member in alone])
    np.testing.assert_allclose(critic(obs, action), each, rtol=1e-5)


def test_a_constant_scale_starts_at_e_to_the_minus_three_and_stays_below_one():
    policy = make_policy(KEY, "constant_scale", 2, 3, (8,))
    assert isinstance(policy, ConstantScalePolicy)
    _, scale = policy.loc_scale(jax.random.normal(KEY, (5, 2)))
    np.testing.assert_allclose(scale, np.full((5, 3), 0.0498), atol=5e-5)
    for raw, expected in ((1e3, 1.0), (-1e3, np.exp(-6.0))):
        extreme = eqx.tree_at(lambda p: p.raw_scale, policy, jnp.full(3, raw))
        np.testing.assert_allclose(extreme.loc_scale(jnp.ones((1, 2)))[1], expected, rtol=1e-5)


def test_a_linear_policy_has_an_unbounded_mean_and_the_scale_that_it_is_given():
    policy = LinearPolicy(MLP(KEY, 2, (), 3, last=9.0), jnp.log(jnp.array([0.1, 0.5, 2.0])))
    obs = 10 * jax.random.normal(KEY, (5, 2))
    loc, scale = policy.loc_scale(obs)
    np.testing.assert_allclose(
        loc, obs @ policy.trunk.weights[0] + policy.trunk.biases[0], rtol=1e-5
    )
    assert float(jnp.abs(loc).max()) > 1
    np.testing.assert_allclose(scale, np.tile([0.1, 0.5, 2.0], (5, 1)), rtol=1e-5)


def heads():
    made = {h: make_policy(KEY, h, 2, 3, (8,)) for h in ("tanh_normal", "normal", "constant_scale")}
    return {**made, "linear": LinearPolicy(MLP(KEY, 2, (8,), 3, last=1.0), jnp.zeros(3))}


@pytest.mark.parametrize("head", heads())
def test_the_density_of_a_sample_is_that_of_the_same_action_given(head):
    policy, obs = heads()[head], jax.random.normal(KEY, (64, 2))
    action, log_prob = policy.sample(obs, KEY)
    assert log_prob.shape == (64,)
    np.testing.assert_allclose(policy.log_prob(obs, action), log_prob, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("head", heads())
def test_samples_fall_where_the_density_says(head):
    """E[1 / π(a)] over samples in an interval is its length, here that of each action's middle."""
    policy, obs = heads()[head], jnp.ones((40_000, 2))
    action, log_prob = policy.sample(obs, KEY)
    loc = policy.mode(obs[:1])
    near = jnp.all(jnp.abs(action - loc) < 0.05, axis=-1)
    volume = float(jnp.mean(jnp.where(near, jnp.exp(-log_prob), 0.0)))
    assert volume == pytest.approx(0.1**3, rel=0.25)


def test_an_action_on_the_border_of_the_box_has_a_finite_density():
    policy = heads()["tanh_normal"]
    border = jnp.array([[1.0, -1.0, 0.0]])

    def density(policy):
        return policy.log_prob(jnp.ones((1, 2)), border)[0]

    assert np.isfinite(float(density(policy)))
    assert all(bool(jnp.isfinite(g).all()) for g in jax.tree.leaves(jax.grad(density)(policy)))
