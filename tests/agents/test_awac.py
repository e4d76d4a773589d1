import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from compiled import Compiled
from method_runs import ACTION_DIM, BATCH, OBS_DIM, make_batch, train_on_demos
from nppac.agents.awac import AWAC
from nppac.agents.common.losses import advantage_weights, td_target, weighted_imitation_loss
from nppac.utils.errors import UserError

KEY = jax.random.key(0)
ADVANTAGES = jnp.array([1.0, 0.0, -1.0])


def small_agent(**settings):
    return Compiled(AWAC(policy_hidden=(16,), critic_hidden=(16,), **settings))


@pytest.mark.parametrize(
    ("limit", "weights"),
    [(None, (0.86681, 0.11731, 0.01588)), (0.5, (0.70538, 0.25950, 0.03512))],
)
def test_weights_of_three_advantages(limit, weights):
    np.testing.assert_allclose(advantage_weights(ADVANTAGES, 0.5, limit), weights, atol=1e-5)


def test_advantages_in_their_own_units_by_hand():
    """Of (10, 0, -10) the standard deviation is 8.165: in its units they are ±1.2247 and 0."""
    expected = np.exp([1.2247 / 3, 0.0, -1.2247 / 3])
    for size in (10.0, 1e4):
        agent = small_agent(standardise_advantage=True, advantage_scale=3.0)
        weights = agent.weights(size * ADVANTAGES)
        np.testing.assert_allclose(weights, expected / expected.sum(), atol=1e-4)
    np.testing.assert_allclose(agent.weights(jnp.ones(3)), np.full(3, 1 / 3), atol=1e-6)
    raw = small_agent(advantage_scale=3.0).weights(10.0 * ADVANTAGES)
    np.testing.assert_allclose(raw, advantage_weights(10.0 * ADVANTAGES, 3.0, None), atol=1e-6)


def test_the_loss_sums_over_the_batch_and_holds_the_weights_constant():
    log_prob, weights = jnp.array([1.0, 2.0]), jnp.array([0.25, 0.75])
    assert float(weighted_imitation_loss(log_prob, weights)) == pytest.approx(-1.75)
    assert not jax.grad(weighted_imitation_loss, argnums=1)(log_prob, weights).any()


def test_the_target_has_no_entropy_and_stops_at_the_end():
    target = td_target(jnp.array([1.0, 1.0]), jnp.array([1.0, 0.0]), jnp.array([2.0, 2.0]), 0.9)
    np.testing.assert_allclose(target, [2.8, 1.0], rtol=1e-6)


@pytest.mark.parametrize("baseline", ["mode", "sample"])
def test_an_advantage_is_over_the_policys_own_action(baseline):
    agent, batch = small_agent(baseline=baseline), make_batch()
    state = agent.init(KEY, OBS_DIM, ACTION_DIM)
    own = {"mode": state.policy.mode(batch.obs), "sample": state.policy.sample(batch.obs, KEY)[0]}
    expected = state.critic(batch.obs, batch.action).min(0) - state.critic(
        batch.obs, own[baseline]
    ).min(0)
    np.testing.assert_allclose(agent.advantage(state, batch, KEY), expected, atol=1e-7)


def test_the_losses_of_an_update_recomputed():
    agent, batch = small_agent(advantage_scale=0.1, baseline="mode"), make_batch()
    state = agent.init(KEY, OBS_DIM, ACTION_DIM)
    after, info = agent.update(state, batch, KEY, "uniform")
    next_action = state.policy.sample(batch.next_obs, jax.random.split(KEY)[0])[0]
    next_q = np.asarray(state.target_critic(batch.next_obs, next_action)).min(0)
    y = np.asarray(batch.reward) + 0.99 * np.asarray(batch.discount_mask) * next_q
    squared = (np.asarray(state.critic(batch.obs, batch.action)) - y) ** 2
    assert float(info["critic_loss"]) == pytest.approx(float(squared.mean(1).sum()), rel=1e-5)
    # The policy steps after the critics, on the new ones.
    old = after._replace(policy=state.policy)
    advantage = np.asarray(agent.advantage(old, batch, KEY), np.float64)
    weights = np.exp(advantage / 0.1) / np.exp(advantage / 0.1).sum()
    loc, scale = map(np.asarray, state.policy.loc_scale(batch.obs))
    density = -0.5 * ((np.asarray(batch.action) - loc) / scale) ** 2
    log_prob = (density - np.log(scale) - 0.5 * np.log(2 * np.pi)).sum(1)
    assert float(info["policy_loss"]) == pytest.approx(-(weights * log_prob).sum(), rel=1e-4)
    assert float(info["largest_weight"]) == pytest.approx(weights.max(), rel=1e-4)


def test_the_policys_gradient_is_that_of_finite_differences():
    agent, batch = small_agent(weight_decay=0.0), make_batch()
    policy = agent.init(KEY, OBS_DIM, ACTION_DIM).policy
    weights = advantage_weights(batch.reward, 0.5, None)

    def loss(raw_scale):
        moved = dataclasses.replace(policy, raw_scale=raw_scale)
        return weighted_imitation_loss(moved.log_prob(batch.obs, batch.action), weights)

    gradient = jax.grad(loss)(policy.raw_scale)
    for i in range(ACTION_DIM):
        step = jnp.zeros(ACTION_DIM).at[i].set(1e-2)
        slope = (loss(policy.raw_scale + step) - loss(policy.raw_scale - step)) / 2e-2
        assert float(gradient[i]) == pytest.approx(float(slope), rel=1e-2)


def test_weight_decay_pulls_the_policy_to_zero():
    """With Adam a coupled decay enters the gradient: it moves even what the loss ignores."""
    for decay, moves in ((0.0, False), (1e-4, True)):
        agent = small_agent(weight_decay=decay)
        state = agent.init(KEY, OBS_DIM, ACTION_DIM)
        after, _, _ = agent.step_policy(state, lambda policy: (jnp.float32(0.0), None))
        old, new = state.policy.trunk.weights[0], after.policy.trunk.weights[0]
        assert bool(jnp.all(jnp.abs(new) < jnp.abs(old))) == moves


def test_an_update_takes_replayed_rows_alone():
    assert small_agent().batch_spec(32)._asdict() == {
        "replayed": 32,
        "demonstrated": 0,
        "minibatches": None,
        "n_step": 0,
        "discount": 1.0,
    }


def test_a_policy_that_needs_its_reference_is_refused():
    with pytest.raises(UserError, match="head 'anchored' corrects a reference"):
        small_agent(head="anchored")


def test_a_scale_of_zero_is_refused():
    with pytest.raises(UserError, match="advantage_scale"):
        small_agent(advantage_scale=0.0)


def test_a_run_from_demonstrations_with_rewards(tmp_path):
    run, metrics = train_on_demos(small_agent().agent, tmp_path)
    assert run.progress.updates > 10
    assert 1 / BATCH <= metrics["largest_weight"][-1] <= 1
