import jax
import jax.numpy as jnp
import numpy as np
import pytest

from compiled import Compiled
from method_runs import ACTION_DIM, BATCH, OBS_DIM, make_batch, train_on_demos
from nppac.agents.abm import (
    ABM,
    improvement_loss,
    improvement_weights,
    n_step_return,
    temperature_dual,
    weights_kl,
)
from nppac.agents.common.losses import imitation_loss
from nppac.training.presets import preset
from nppac.types import DemoBatch, NStepOutcome, ReferenceStats

KEY = jax.random.key(0)
TWO = jnp.array([[1.0], [0.0]])  # the values of two samples at one state


def small_agent(**settings):
    sizes = {"policy_hidden": (16,), "critic_hidden": (16,), "prior_samples": 5}
    return Compiled(ABM(**{**sizes, **settings}))


def make_batch_ahead(reward=0.0):
    batch = make_batch()
    n_step_outcome = NStepOutcome(
        jnp.full(BATCH, reward), batch.next_obs, jnp.full(BATCH, 0.9), batch.next_reference
    )
    return batch._replace(n_step=n_step_outcome)


def test_weights_and_dual_of_two_samples():
    np.testing.assert_allclose(improvement_weights(TWO, 1.0)[:, 0], [0.7311, 0.2689], atol=1e-4)
    assert float(temperature_dual(TWO, 1.0, 0.1)) == pytest.approx(0.7201, abs=1e-4)


def test_the_duals_slope_is_the_kl_left_over():
    """∂g/∂η = ε - KL(w ‖ uniform): at the minimum the improved distribution is ε away."""
    q = jax.random.normal(KEY, (20, 6))
    for eta in (0.5, 2.0):
        slope = jax.grad(lambda e: temperature_dual(q, e, 0.1))(jnp.array(eta))
        kl = jnp.mean(weights_kl(improvement_weights(q, eta)))
        assert float(slope) == pytest.approx(0.1 - float(kl), abs=1e-5)


def test_the_dual_survives_values_that_would_overflow():
    assert np.isfinite(temperature_dual(1e6 * TWO, 1e-3, 0.1))
    weights = improvement_weights(1e6 * TWO, 1e-3)
    np.testing.assert_allclose(weights_kl(weights), [np.log(2.0)], rtol=1e-5)


def test_the_improvement_loss_by_hand():
    log_prob, weights = jnp.array([[1.0, 2.0], [3.0, 4.0]]), jnp.array([[0.5, 1.0], [0.5, 0.0]])
    assert float(improvement_loss(log_prob, weights)) == pytest.approx(-(2.0 + 2.0) / 2)
    assert not jax.grad(improvement_loss, argnums=1)(log_prob, weights).any()


def test_the_return_ahead_by_hand():
    n_step_outcome = NStepOutcome(
        jnp.array([1.0, 2.0]), jnp.zeros((2, 3)), jnp.array([0.5, 0.0]), ReferenceStats(None, None)
    )
    np.testing.assert_allclose(n_step_return(n_step_outcome, jnp.array([4.0, 9.0])), [3.0, 2.0])


def gradient_of_cloning(state, batch):
    """The gradient of maximum likelihood on every pair."""

    def loss(prior):
        return -jnp.mean(prior.log_prob(batch.obs, batch.action))

    return jax.jit(jax.grad(loss))(state.prior)


def test_the_prior_starts_as_the_cloned_policy_and_sees_what_it_sees():
    agent, batch = small_agent(standardise_obs=True), make_batch()
    state = agent.init(KEY, OBS_DIM, ACTION_DIM)
    obs = 3.0 * np.asarray(batch.obs) + 1.0
    state = agent.agent.with_demo_units(state, obs, np.asarray(batch.action))
    for network in (state.policy.trunk, state.prior.trunk):
        np.testing.assert_allclose(network.units[0], obs.mean(0), rtol=1e-5)
        np.testing.assert_allclose(network.units[1], obs.std(0), rtol=1e-5)
    shown = DemoBatch(batch.obs, batch.action, batch.reference)
    after, _ = agent.pretrain_step(state, shown, KEY, "uniform")
    policy, prior = (after.policy, after.policy_optimiser), (after.prior, after.prior_optimiser)
    pairs = zip(*map(jax.tree.leaves, (policy, prior)), strict=True)
    assert all(np.array_equal(left, right) for left, right in pairs)
    assert not np.array_equal(after.policy.trunk.weights[0], state.policy.trunk.weights[0])


def test_critics_in_units_of_the_returns():
    """In units of (100, 10) an output of 2 is a value of 120, and the critics learn from that."""
    agent, batch = small_agent(normalise_values=True), make_batch_ahead()
    state = agent.init(KEY, OBS_DIM, ACTION_DIM)
    units = {"value_shift": jnp.float32(100.0), "value_scale": jnp.float32(10.0)}
    own, ours = (agent.value(s, batch.obs, KEY) for s in (state, state._replace(**units)))
    np.testing.assert_allclose(ours, 100.0 + 10.0 * own, rtol=1e-6)
    _, info = agent.update(state._replace(**units), batch, KEY, "uniform")
    # Every value is near 100: so is the target, except after the terminal row.
    assert 90.0 < float(info["q"]) < 110.0
    target = np.asarray(batch.reward) + 0.99 * np.asarray(batch.discount_mask) * 100.0
    expected = 2.0 * np.mean(((target - 100.0) / 10.0) ** 2)
    assert float(info["critic_loss"]) == pytest.approx(expected, rel=0.1)


def test_with_every_action_accepted_the_prior_is_cloned():
    agent, batch = small_agent(), make_batch_ahead(reward=1e6)
    state = agent.init(KEY, OBS_DIM, ACTION_DIM)
    mle = gradient_of_cloning(state, batch)
    ours = jax.jit(
        jax.grad(
            lambda prior: imitation_loss(prior.log_prob(batch.obs, batch.action), jnp.ones(BATCH))
        )
    )(state.prior)
    for left, right in zip(jax.tree.leaves(ours), jax.tree.leaves(mle), strict=True):
        np.testing.assert_array_equal(left, right)

    @jax.jit
    def stepped(state, gradient):
        optimiser = agent.policy_optimiser()
        updates, _ = optimiser.update(gradient, state.prior_optimiser, state.prior)
        return jax.tree.map(jnp.add, state.prior, updates)

    after, info = agent.update_prior(state, batch, KEY)
    assert float(info["accepted"]) == 1.0
    expected = stepped(state, mle)
    for left, right in zip(jax.tree.leaves(after.prior), jax.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(left, right, atol=1e-7)


def test_with_no_action_accepted_nothing_is_imitated():
    agent, batch = small_agent(), make_batch_ahead(reward=-1e6)
    state = agent.init(KEY, OBS_DIM, ACTION_DIM)
    after, info = agent.update(state, batch, KEY, "uniform")
    assert float(info["accepted"]) == float(info["prior_loss"]) == 0.0
    assert all(np.isfinite(value) for value in info.values())
    for left, right in zip(*map(jax.tree.leaves, (after.prior, state.prior)), strict=True):
        np.testing.assert_array_equal(left, right)


def test_acceptance_follows_the_return_ahead():
    """Half of the rows lead to riches; their actions, and no others, are imitated."""
    agent, batch = small_agent(), make_batch_ahead()
    reward = jnp.where(jnp.arange(BATCH) < BATCH // 2, 1e3, -1e3)
    batch = batch._replace(n_step=batch.n_step._replace(reward=reward))
    state = agent.init(KEY, OBS_DIM, ACTION_DIM)
    _, info = agent.update_prior(state, batch, KEY)
    log_prob = jax.jit(lambda prior: prior.log_prob(batch.obs, batch.action))(state.prior)
    log_prob = log_prob[: BATCH // 2]
    assert float(info["accepted"]) == 0.5
    assert float(info["prior_loss"]) == pytest.approx(-float(jnp.sum(log_prob)) / BATCH, rel=1e-5)


def test_the_policy_moves_to_the_priors_valued_actions():
    agent = small_agent(policy_hidden=(32,), learning_rate=3e-3, log_temperature=-4.0)
    state, batch = agent.init(KEY, OBS_DIM, ACTION_DIM), make_batch_ahead()

    @jax.jit
    def worth(critic, policy):
        return jnp.mean(jnp.min(critic(batch.obs, policy.mode(batch.obs)), axis=0))

    def step(state, key):
        after, info = agent.update_policy(state, batch, key)
        return after._replace(log_temperature=state.log_temperature), info

    before, prior = (worth(state.critic, policy) for policy in (state.policy, state.prior))
    state, _ = jax.lax.scan(step, state, jax.random.split(KEY, 300))
    after = worth(state.critic, state.policy)
    assert float(after) > max(float(before), float(prior))


def test_the_temperature_falls_while_the_improvement_is_too_timid():
    for log_eta, falls in ((6.0, True), (-9.0, False)):
        state = small_agent(log_temperature=log_eta).init(KEY, OBS_DIM, ACTION_DIM)
        # The setting is in the state: one program learns from either.
        after, info = small_agent().update(state, make_batch_ahead(), KEY, "uniform")
        assert (float(info["kl"]) < 0.1) == falls
        assert (float(after.log_temperature) < log_eta) == falls


def test_an_update_draws_the_returns_ahead():
    agent = small_agent(n_step=7, discount=0.9)
    assert agent.batch_spec(32)._asdict() == {
        "replayed": 32,
        "demonstrated": 0,
        "minibatches": None,
        "n_step": 7,
        "discount": 0.9,
    }


def test_a_value_is_the_mean_over_actions_of_the_least_target_critic():
    agent, batch = small_agent(value_samples=3), make_batch()
    state = agent.init(KEY, OBS_DIM, ACTION_DIM)

    @jax.jit
    def least(state, key):
        action, _ = state.policy.sample(batch.obs, key)
        return state.target_critic(batch.obs, action).min(0)

    expected = np.mean([least(state, key) for key in jax.random.split(KEY, 3)], axis=0)
    np.testing.assert_allclose(agent.value(state, batch.obs, KEY), expected, atol=1e-6)


def test_a_run_from_demonstrations_with_rewards(tmp_path):
    agent = small_agent(n_step=3, discount=0.5, learning_rate=1e-2, tau=1.0)
    run, metrics = train_on_demos(agent.agent, tmp_path)
    assert run.progress.updates > 0
    assert 0 < metrics["accepted"][-1] <= 1
    assert np.isfinite(metrics["eval_return_mean"]).any()


def test_the_preset_learns_offline_first():
    config = preset("pen", "abm")
    assert (config.schedule.offline_updates, config.schedule.demos_in_replay) == (25_000, True)
    assert config.agent.head == "constant_scale"
    assert config.agent.policy_hidden == (256,) * 4
