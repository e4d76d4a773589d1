import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from method_runs import stacked
from nppac.agents.kl_actor_critic import KLActorCritic
from nppac.nn.mlp import MLP
from nppac.nn.policies import NormalPolicy
from nppac.types import DemoBatch, NStepOutcome, ReferenceStats
from nppac.utils.errors import UserError
from small_kl_agent import ACTION_DIM, BATCH, KEY, OBS_DIM, make_batch, small_agent


def sac_losses(agent, state, batch, key):
    """SAC's own losses, written out without any reference."""
    critic_key, policy_key = jax.random.split(key)
    next_action, next_log_prob = state.policy.sample(batch.next_obs, critic_key)
    next_q = state.target_critic(batch.next_obs, next_action).min(0)
    alpha = jnp.exp(state.log_temperature)
    target = batch.reward + agent.discount * batch.discount_mask * (next_q - alpha * next_log_prob)

    def loss(policy):
        action, log_prob = policy.sample(batch.obs, policy_key)
        return (alpha * log_prob - state.critic(batch.obs, action).min(0)).mean()

    return target, *jax.jit(jax.value_and_grad(loss))(state.policy)


def test_uniform_reference_is_sac_up_to_the_known_constant():
    agent, batch = small_agent(temperature=0.2), make_batch()
    state = agent.init(KEY, OBS_DIM, ACTION_DIM)
    critic_key, policy_key = jax.random.split(KEY)
    sac_target, sac_loss, sac_gradient = sac_losses(agent, state, batch, KEY)
    constant = 0.2 * ACTION_DIM * np.log(2)  # α d ln 2

    next_action, log_ratio = agent.act_with_log_ratio(
        state.policy, batch.next_obs, batch.next_reference, critic_key, "uniform"
    )
    next_q = state.target_critic(batch.next_obs, next_action).min(0)
    target = batch.reward + agent.discount * batch.discount_mask * (next_q - 0.2 * log_ratio)
    np.testing.assert_allclose(
        target - sac_target, -agent.discount * batch.discount_mask * constant, atol=1e-5
    )

    def loss(policy):
        action, log_ratio = agent.act_with_log_ratio(
            policy, batch.obs, batch.reference, policy_key, "uniform"
        )
        return (0.2 * log_ratio - state.critic(batch.obs, action).min(0)).mean()

    value, gradient = jax.jit(jax.value_and_grad(loss))(state.policy)
    assert float(value - sac_loss) == pytest.approx(constant, abs=1e-5)
    for ours, theirs in zip(jax.tree.leaves(gradient), jax.tree.leaves(sac_gradient), strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-6)


def test_policy_gradient_is_that_of_proposition_1():
    """Linear-Gaussian toy: μ(s) = tanh(b), σ fixed; the gradient in b is known on paper."""
    agent = small_agent(head="normal")
    trunk = jax.tree.map(jnp.zeros_like, MLP(KEY, 1, (), 2, last=1.0))
    mean_bias, log_scale = 0.4, -1.0
    trunk = eqx.tree_at(lambda mlp: mlp.biases[0], trunk, jnp.array([mean_bias, log_scale]))
    policy = NormalPolicy(trunk)
    obs, loc_0, scale_0 = jnp.zeros((1, 1)), jnp.array([[0.9]]), jnp.array([[0.2]])
    slope = 1.7  # Q(s, a) = slope · a

    def loss(policy):
        action, log_ratio = agent.act_with_log_ratio(
            policy, obs, ReferenceStats(loc_0, scale_0), KEY, "normal"
        )
        return (0.7 * log_ratio - slope * action[:, 0]).mean()

    gradient = jax.jit(jax.grad(loss))(policy).trunk.biases[0]
    noise = float(jax.random.normal(KEY, (1, 1))[0, 0])
    loc, scale = np.tanh(mean_bias), np.exp(log_scale)
    action = loc + scale * noise
    d_log_pi = -(action - loc) / scale**2
    d_log_pi_0 = -(action - 0.9) / 0.2**2
    bracket = 0.7 * d_log_pi - 0.7 * d_log_pi_0 - slope
    d_action, d_loc = 1 - loc**2, (action - loc) / scale**2 * (1 - loc**2)
    assert float(gradient[0]) == pytest.approx(bracket * d_action + 0.7 * d_loc, rel=1e-4)
    d_log_scale = noise**2 - 1  # ∂ log π / ∂ log σ at a fixed action
    expected = bracket * scale * noise + 0.7 * d_log_scale
    assert float(gradient[1]) == pytest.approx(expected, rel=1e-4)


def test_closed_form_kl_is_the_mean_of_sampled_ones():
    agent = small_agent(head="normal")
    state, batch = agent.init(KEY, OBS_DIM, ACTION_DIM), make_batch()

    def estimate(key, agent):
        return agent.act_with_log_ratio(state.policy, batch.obs, batch.reference, key, "normal")[1]

    sampled = jax.vmap(lambda key: estimate(key, agent))(jax.random.split(KEY, 20_000)).mean(0)
    closed = estimate(KEY, small_agent(head="normal", kl="closed"))
    np.testing.assert_allclose(sampled, closed, rtol=0.05)


@pytest.mark.parametrize(("count", "message"), [(0, "it must be at least 1"), (3, "there are 2")])
def test_a_target_of_no_critic_or_of_more_than_there_are_is_refused(count, message):
    with pytest.raises(UserError, match=f"'num_min_qs' is {count}; {message}"):
        KLActorCritic(num_qs=2, num_min_qs=count)


def test_closed_form_kl_is_refused_for_the_squashed_head():
    agent = small_agent(kl="closed")
    state = agent.init(KEY, OBS_DIM, ACTION_DIM)
    with pytest.raises(UserError, match="kl='sample'"):
        agent.update(state, stacked(make_batch()), KEY, "normal")


def test_smaller_reference_scale_means_larger_gradient():
    agent = small_agent(head="normal", temperature=1.0)
    state = agent.init(KEY, OBS_DIM, ACTION_DIM)
    gradients = [
        float(agent.update(state, stacked(make_batch(scale)), KEY, "normal")[1]["policy_gradient"])
        for scale in (1.0, 0.1, 0.01)
    ]
    # ∇ log π0 grows as σ0⁻²: a hundredfold for each tenth, once it dominates.
    assert gradients[2] / gradients[1] == pytest.approx(100, rel=0.2)
    assert gradients[1] > 10 * gradients[0]


def test_update_moves_targets_by_tau_and_keeps_a_fixed_temperature():
    agent = small_agent(temperature=0.3)
    state = agent.init(KEY, OBS_DIM, ACTION_DIM)
    after, info = agent.update(state, stacked(make_batch()), KEY, "normal")
    old, new, target = (
        tree.members.weights[0] for tree in (state.target_critic, after.critic, after.target_critic)
    )
    np.testing.assert_allclose(target, 0.995 * old + 0.005 * new, atol=1e-7)
    assert float(info["temperature"]) == pytest.approx(0.3)


def test_cloning_reduces_the_kl():
    agent, batch = small_agent(head="normal", kl="closed"), make_batch()
    state = agent.init(KEY, OBS_DIM, ACTION_DIM)

    demo_batch = DemoBatch(batch.obs, batch.action, batch.reference)

    def step(state, _):
        return agent.pretrain_step(state, demo_batch, KEY, "normal")

    _, info = jax.lax.scan(step, state, length=200)
    assert float(info["pretrain_loss"][-1]) < 0.7 * float(info["pretrain_loss"][0])


def test_the_target_looks_as_far_ahead_as_it_is_told():
    agent, batch = small_agent(n_step=3, discount=0.9), make_batch()
    assert (agent.batch_spec(4).n_step, agent.batch_spec(4).discount) == (3, 0.9)
    assert small_agent().batch_spec(4).n_step == 0
    state = agent.init(KEY, OBS_DIM, ACTION_DIM)
    outcome = NStepOutcome(
        reward=jnp.full(BATCH, 7.0),
        obs=batch.obs - 0.3,
        discount=0.9**3 * batch.discount_mask,
        reference=batch.reference,
    )
    by_hand = batch._replace(
        reward=outcome.reward,
        next_obs=outcome.obs,
        discount_mask=0.9**2 * batch.discount_mask,
        next_reference=outcome.reference,
    )
    one, _ = agent.update_critic(state, batch._replace(n_step=outcome), KEY, "normal")
    other, _ = agent.update_critic(state, by_hand, KEY, "normal")
    near, _ = agent.update_critic(state, batch, KEY, "normal")
    for a, b in zip(jax.tree.leaves(one.critic), jax.tree.leaves(other.critic), strict=True):
        np.testing.assert_allclose(a, b, atol=1e-6)
    one_weight, near_weight = (state.critic.members.weights[0] for state in (one, near))
    assert not np.allclose(one_weight, near_weight, atol=1e-6)


def test_a_discount_of_zero_leaves_nothing_to_look_ahead_to():
    assert KLActorCritic(discount=0.0).discount == 0
    with pytest.raises(UserError, match="discount"):
        KLActorCritic(discount=0.0, n_step=2)
