from functools import partial

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import integrate

from compiled import Compiled
from nppac.nn.critics import CriticEnsemble
from nppac.nn.mlp import MLP, layer_normalised
from nppac.nn.policies import ConstantScalePolicy, LinearPolicy, make_policy

KEY = jax.random.key(0)
HEADS = ("tanh_normal", "normal", "constant_scale", "linear")


@eqx.filter_jit
def made(make, *args, **settings):
    """A new network, made by one program."""
    return make(KEY, *args, **settings)


def drawn(make, *args, **settings):
    """A network of random weights, which no program makes."""
    rng = np.random.default_rng(0)
    shapes = eqx.filter_eval_shape(make, KEY, *args, **settings)
    return jax.tree.map(lambda x: jnp.asarray(rng.uniform(-0.5, 0.5, x.shape), "f4"), shapes)


def normal(*shape, seed=0):
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


@eqx.filter_jit
def called(network, *args):
    """The networks' answer by one program, which is compiled once for all networks of a kind."""
    return network(*args)


def test_initialisation_is_the_authors():
    mlp = made(MLP, 5, (256, 64), 3, last=1e-3)
    first, second, last = map(np.abs, mlp.weights)
    assert first.max() == pytest.approx(1 / 16, rel=0.01)
    assert second.max() == pytest.approx(1 / 8, rel=0.01)
    assert last.max() <= 1e-3
    assert (np.asarray(mlp.biases[0]) == np.float32(0.1)).all()


def test_mlp_by_hand():
    mlp = drawn(MLP, 1, (1,), 1, last=1.0)
    (w0, w1), (b0, b1) = (map(np.asarray, layers) for layers in (mlp.weights, mlp.biases))
    assert 9.0 * w0 + b0 > 0
    expected = np.maximum(9.0 * w0 + b0, 0) * w1 + b1
    np.testing.assert_allclose(called(mlp, np.float32([9.0])), expected[0], rtol=1e-6)


def test_tanh_policy_density_integrates_to_one():
    @jax.jit
    def samples():
        policy = make_policy(KEY, "tanh_normal", 2, 1, (8,))
        obs = jnp.array([[0.3, -0.2]])
        return jax.vmap(lambda key: policy.sample(obs, key))(jax.random.split(KEY, 4000))

    actions, log_probs = map(np.asarray, samples())
    order = np.argsort(actions[:, 0, 0])
    total = integrate.trapezoid(np.exp(log_probs[order, 0]), actions[order, 0, 0])
    assert total == pytest.approx(1.0, abs=0.02)
    assert np.abs(actions).max() < 1.0


def test_heads_agree_on_the_mode_and_differ_in_range():
    obs, heads = np.ones((500, 2), np.float32), ("tanh_normal", "normal")
    tanh, normal = (Compiled(drawn(make_policy, head, 2, 3, (8,))) for head in heads)
    np.testing.assert_allclose(tanh.mode(obs), normal.mode(obs), rtol=1e-6)
    assert np.abs(tanh.sample(obs, KEY)[0]).max() <= 1.0
    assert np.abs(normal.sample(obs, KEY)[0]).max() > 1.0


def test_log_scale_is_clipped():
    policy = drawn(make_policy, "normal", 2, 3, (8,))
    huge = Compiled(jax.tree.map(lambda x: jnp.asarray(np.full(x.shape, 1e4, x.dtype)), policy))
    scale = huge.loc_scale(np.ones((5, 2), np.float32))[1]
    np.testing.assert_allclose(scale, np.full((5, 3), np.exp(2.0)), rtol=1e-5)


def test_critics_are_independent():
    critic = made(CriticEnsemble, 2, 3, 2, (16,))
    q = called(critic, np.ones((1, 3), np.float32), np.ones((1, 2), np.float32))
    assert q.shape == (2, 1)
    assert not np.allclose(*np.asarray(q))


def test_clipped_actions_are_judged_as_the_environment_takes_them():
    free = drawn(CriticEnsemble, 2, 3, 2, (16,))
    clipping = drawn(CriticEnsemble, 2, 3, 2, (16,), clip_actions=True)
    obs = np.ones((1, 3), np.float32)
    outside, border, inside = np.float32([[[1.7, -3.0]], [[1.0, -1.0]], [[0.5, -0.5]]])
    found = np.asarray(called(clipping, obs, outside))
    np.testing.assert_array_equal(found, called(free, obs, border))
    assert not np.allclose(called(free, obs, outside), found)
    slope = jax.jit(jax.grad(lambda a: jnp.sum(clipping(obs, a))))
    assert not np.asarray(slope(outside)).any()  # nothing changes beyond the box
    assert np.asarray(slope(inside)).all()


@pytest.mark.parametrize("head", ["tanh_normal", "normal", "constant_scale"])
def test_exploring_without_noise_is_the_mode_and_with_all_of_it_a_sample(head):
    policy, obs = Compiled(drawn(make_policy, head, 2, 3, (8,))), np.ones((500, 2), np.float32)
    none, all_of_it = (policy.explore(obs, KEY, noise) for noise in (0.0, 1.0))
    np.testing.assert_allclose(none, policy.mode(obs), rtol=1e-6)
    np.testing.assert_allclose(all_of_it, policy.sample(obs, KEY)[0], rtol=1e-6)


@pytest.mark.parametrize("hidden", [(), (8,), (8, 6), (8, 6, 4)])
@pytest.mark.parametrize("layer_norm", [False, True])
def test_every_critic_says_what_it_would_say_alone(hidden, layer_norm):
    critic = drawn(CriticEnsemble, 3, 2, 1, hidden, layer_norm)
    members = jax.tree.map(np.asarray, critic.members)
    for shape in ((), (5,), (4, 5)):
        obs, action = normal(*shape, 2), normal(*shape, 1, seed=1)
        values = np.asarray(called(critic, obs, action))
        assert values.shape == (3, *shape)
        for i in range(3):
            member = jax.tree.map(lambda stacked, i=i: stacked[i], members)
            alone = np.asarray(called(member, np.concatenate([obs, action], -1)))[..., 0]
            np.testing.assert_allclose(values[i], alone, rtol=1e-5, atol=1e-6)


def test_standardized_rows_are_those_of_jax_and_so_are_their_gradients():
    @partial(jax.jit, static_argnums=0)
    def rows_and_gradient(f, x):
        return f(x), jax.grad(lambda x: jnp.sum(jnp.sin(3.0 * f(x))))(x)

    x = 3.0 + normal(2, 5, 64)
    rows, gradient = rows_and_gradient(layer_normalised, x)
    theirs, expected = rows_and_gradient(partial(jax.nn.standardize, epsilon=1e-6), x)
    np.testing.assert_allclose(rows, theirs, atol=1e-5)
    np.testing.assert_allclose(gradient, expected, atol=1e-4)


def test_layer_norm_by_hand():
    """Two hidden values x: standardised to ±1, scaled, shifted, then cut at zero."""
    mlp = drawn(MLP, 1, (2,), 1, last=1.0, layer_norm=True)
    mlp = eqx.tree_at(lambda m: m.weights[0], mlp, jnp.array([[3.0, -5.0]]))
    mlp = eqx.tree_at(lambda m: m.norms[0], mlp, (jnp.array([2.0, 7.0]), jnp.array([0.5, 8.0])))
    weight, bias = np.asarray(mlp.weights[1]), np.asarray(mlp.biases[1])
    expected = np.array([2.0 * 1 + 0.5, 7.0 * -1 + 8.0]) @ weight + bias
    np.testing.assert_allclose(called(mlp, np.float32([1.0])), expected, rtol=1e-4)


def test_layer_norm_is_there_in_hidden_layers_only_and_starts_neutral():
    mlp = made(MLP, 3, (16, 8), 2, last=1.0, layer_norm=True)
    assert [scale.shape for scale, _ in mlp.norms] == [(16,), (8,)]
    norms = [(np.asarray(scale), np.asarray(shift)) for scale, shift in mlp.norms]
    assert all((scale == 1).all() and (shift == 0).all() for scale, shift in norms)
    assert drawn(MLP, 3, (16, 8), 2, last=1.0).norms == ()
    weights, biases = ([np.asarray(a) for a in layers] for layers in (mlp.weights, mlp.biases))
    x = normal(5, 3)
    hidden = x @ weights[0] + biases[0]
    centred = hidden - hidden.mean(-1, keepdims=True)
    normed = centred / np.sqrt(hidden.var(-1, keepdims=True) + 1e-6)
    np.testing.assert_allclose(normed.mean(-1), 0, atol=1e-5)
    hidden = np.maximum(normed, 0) @ weights[1] + biases[1]
    centred = hidden - hidden.mean(-1, keepdims=True)
    normed = centred / np.sqrt(hidden.var(-1, keepdims=True) + 1e-6)
    expected = np.maximum(normed, 0) @ weights[2] + biases[2]
    np.testing.assert_allclose(called(mlp, x), expected, rtol=1e-3, atol=1e-5)


def test_each_critic_normalises_by_itself():
    critic = drawn(CriticEnsemble, 3, 2, 1, (8,), layer_norm=True)
    inputs = np.ones((5, 3), np.float32)
    (scale, shift) = critic.members.norms[0]
    assert scale.shape == shift.shape == (3, 8)
    members = jax.tree.map(np.asarray, critic.members)
    alone = [jax.tree.map(lambda x, i=i: x[i], members) for i in range(3)]
    each = np.stack([np.asarray(called(member, inputs))[..., 0] for member in alone])
    np.testing.assert_allclose(called(critic, inputs[:, :2], inputs[:, 2:]), each, rtol=1e-5)


def test_a_constant_scale_starts_at_e_to_the_minus_three_and_stays_below_one():
    policy, obs = made(make_policy, "constant_scale", 2, 3, (8,)), normal(5, 2)
    assert isinstance(policy, ConstantScalePolicy)
    _, scale = Compiled(policy).loc_scale(obs)
    np.testing.assert_allclose(scale, np.full((5, 3), 0.0498), atol=5e-5)
    for raw, expected in ((1e3, 1.0), (-1e3, np.exp(-6.0))):
        extreme = eqx.tree_at(lambda p: p.raw_scale, policy, jnp.asarray(np.full(3, raw, "f4")))
        scale = Compiled(extreme).loc_scale(obs)[1]
        np.testing.assert_allclose(scale, np.full((5, 3), expected), rtol=1e-5)


def test_a_linear_policy_has_an_unbounded_mean_and_the_scale_that_it_is_given():
    log_scale = jnp.asarray(np.log([0.1, 0.5, 2.0]).astype(np.float32))
    policy = LinearPolicy(drawn(MLP, 2, (), 3, last=9.0), log_scale)
    obs = 10 * normal(5, 2)
    loc, scale = Compiled(policy).loc_scale(obs)
    weight, bias = np.asarray(policy.trunk.weights[0]), np.asarray(policy.trunk.biases[0])
    np.testing.assert_allclose(loc, obs @ weight + bias, rtol=1e-5)
    assert np.abs(loc).max() > 1
    np.testing.assert_allclose(scale, np.tile([0.1, 0.5, 2.0], (5, 1)), rtol=1e-5)


def policy_of(head):
    """A new policy, inside of a program."""
    if head == "linear":
        return LinearPolicy(MLP(KEY, 2, (8,), 3, last=1.0), jnp.zeros(3))
    return make_policy(KEY, head, 2, 3, (8,))


@pytest.mark.parametrize("head", HEADS)
def test_the_density_of_a_sample_is_that_of_the_same_action_given(head):
    @jax.jit
    def densities(obs):
        policy = policy_of(head)
        action, log_prob = policy.sample(obs, KEY)
        return policy.log_prob(obs, action), log_prob

    given, log_prob = densities(normal(64, 2))
    assert log_prob.shape == (64,)
    np.testing.assert_allclose(given, log_prob, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("head", HEADS)
def test_samples_fall_where_the_density_says(head):
    """E[1 / π(a)] over samples in an interval is its length, here that of each action's middle."""

    @jax.jit
    def samples(obs):
        policy = policy_of(head)
        return *policy.sample(obs, KEY), policy.mode(obs[:1])

    action, log_prob, loc = map(np.asarray, samples(np.ones((40_000, 2), np.float32)))
    near = np.all(np.abs(action - loc) < 0.05, axis=-1)
    volume = np.mean(np.where(near, np.exp(-log_prob), 0.0))
    assert volume == pytest.approx(0.1**3, rel=0.25)


def test_an_action_on_the_border_of_the_box_has_a_finite_density():
    policy = drawn(make_policy, "tanh_normal", 2, 3, (8,))
    border = np.float32([[1.0, -1.0, 0.0]])

    def density(policy):
        return policy.log_prob(np.ones((1, 2), np.float32), border)[0]

    found, slope = jax.jit(jax.value_and_grad(density))(policy)
    assert np.isfinite(float(found))
    assert all(np.isfinite(np.asarray(g)).all() for g in jax.tree.leaves(slope))
