import jax
import jax.numpy as jnp
import numpy as np
import pytest

from compiled import Compiled
from method_runs import ACTION_DIM, BATCH, OBS_DIM, make_batch, stacked, train_on_demos
from nppac.agents.base import split_rows
from nppac.agents.common.losses import imitation_loss
from nppac.agents.kl_actor_critic import KLActorCritic
from nppac.agents.sac_bc import SACBC
from nppac.types import DemoBatch
from nppac.utils.errors import UserError

KEY = jax.random.key(0)
SHOWN = 6
SIZES = {"policy_hidden": (16,), "critic_hidden": (16,)}


def small_agent(**settings):
    agent = SACBC(demo_batch_size=SHOWN, **{**SIZES, **settings})
    return Compiled(agent, "imitation_weight")


def small_sac(**settings):
    return Compiled(KLActorCritic(**SIZES, **settings))


class Prefers:
    """Critics that value an action by its closeness to another, or by its distance."""

    def __init__(self, action, sign):
        self.action, self.sign = action, sign

    def __call__(self, obs, action):
        value = -self.sign * jnp.sum((action - self.action) ** 2, axis=-1)
        return jnp.stack([value, value + 1.0])


def filtered_loss(agent, policy, critic, demo_batch):
    mask = agent.preferred(policy, critic, demo_batch)
    return imitation_loss(policy.log_prob(demo_batch.obs, demo_batch.action), mask)


@jax.jit
def log_likelihood(policy, obs, action):
    return policy.log_prob(obs, action)


def leaves_are_zero(tree):
    return all(not np.any(leaf) for leaf in jax.tree.leaves(tree))


def test_nothing_is_imitated_where_the_critics_prefer_the_policy():
    agent, demo_batch = small_agent(q_filter=True), make_batch(SHOWN)
    policy = agent.init(KEY, OBS_DIM, ACTION_DIM).policy

    @jax.jit
    @jax.value_and_grad
    def loss(policy, sign):
        return filtered_loss(agent, policy, Prefers(demo_batch.action, sign), demo_batch)

    for sign, imitates in ((-1.0, False), (1.0, True)):  # demonstrated action worst, or best
        value, gradient = loss(policy, sign)
        assert (float(value) != 0.0) == imitates
        assert leaves_are_zero(gradient) != imitates


def test_a_tie_is_not_imitated():
    agent, demo_batch = small_agent(q_filter=True), make_batch(SHOWN)
    policy = agent.init(KEY, OBS_DIM, ACTION_DIM).policy
    mask = agent.preferred(policy, lambda obs, action: jnp.zeros((2, len(obs))), demo_batch)
    np.testing.assert_array_equal(mask, np.zeros(SHOWN))


def test_without_the_filter_all_pairs_are_imitated():
    agent, demo_batch = small_agent(), make_batch(SHOWN)
    state = agent.init(KEY, OBS_DIM, ACTION_DIM)
    np.testing.assert_array_equal(
        agent.preferred(state.policy, Prefers(demo_batch.action, -1.0), demo_batch), np.ones(SHOWN)
    )


def test_the_filter_admits_exactly_the_better_pairs():
    agent, demo_batch = small_agent(q_filter=True), make_batch(SHOWN)
    state = agent.init(KEY, OBS_DIM, ACTION_DIM)
    values = jax.jit(lambda critic, action: jnp.min(critic(demo_batch.obs, action), axis=0))
    mode = agent.mode(state, demo_batch.obs, None)
    demonstrated, own = values(state.critic, demo_batch.action), values(state.critic, mode)
    np.testing.assert_array_equal(
        agent.preferred(state.policy, state.critic, demo_batch), demonstrated > own
    )


def test_the_policys_loss_is_sacs_and_the_weighted_imitation():
    """Against SAC on the replayed rows, with the same noise and the same critics."""
    batch, weight = make_batch(BATCH + SHOWN), 2.5
    agent, sac = small_agent(imitation_weight=weight), small_sac()
    state = agent.init(KEY, OBS_DIM, ACTION_DIM)
    replayed, demo_batch = split_rows(batch, BATCH)
    after, info = agent.update(state, stacked(batch), KEY, "uniform")
    sac_after, sac_info = sac.update(state, stacked(replayed), KEY, "uniform")
    log_prob = log_likelihood(state.policy, demo_batch.obs, demo_batch.action)
    expected = float(sac_info["policy_loss"]) - weight * float(log_prob.mean())
    assert float(info["policy_loss"]) == pytest.approx(expected, rel=1e-5)
    assert float(info["critic_loss"]) == pytest.approx(float(sac_info["critic_loss"]), rel=1e-6)
    for left, right in zip(*map(jax.tree.leaves, (after.critic, sac_after.critic)), strict=True):
        np.testing.assert_allclose(left, right, atol=1e-7)


def test_the_weight_may_be_in_units_of_the_demonstrated_values():
    """With values of 4 in the rewards' units a weight of 2.5 counts as 10."""
    batch, weight = make_batch(BATCH + SHOWN), 2.5
    agent, sac = small_agent(imitation_weight=weight, imitation_in_q_units=True), small_sac()
    units = {"value_shift": jnp.float32(4.0), "value_scale": jnp.float32(1e-6)}
    state = agent.init(KEY, OBS_DIM, ACTION_DIM)._replace(**units)
    replayed, demo_batch = split_rows(batch, BATCH)
    _, info = agent.update(state, stacked(batch), KEY, "uniform")
    _, sac_info = sac.update(state, stacked(replayed), KEY, "uniform")
    log_prob = log_likelihood(state.policy, demo_batch.obs, demo_batch.action)
    expected = float(sac_info["policy_loss"]) - 4.0 * weight * float(log_prob.mean())
    assert float(info["policy_loss"]) == pytest.approx(expected, rel=1e-4)


def test_pretraining_clones_the_demonstrations():
    """There is no reference to pull the policy to."""
    agent, batch = small_agent(), make_batch()
    state = agent.init(KEY, OBS_DIM, ACTION_DIM)
    shown = DemoBatch(batch.obs, batch.action, batch.reference)
    _, info = agent.pretrain_step(state, shown, KEY, "uniform")
    expected = -float(log_likelihood(state.policy, batch.obs, batch.action).mean())
    assert float(info["pretrain_loss"]) == pytest.approx(expected, rel=1e-5)


def test_without_weight_it_is_sac():
    batch = make_batch(BATCH + SHOWN)
    agent, sac = small_agent(imitation_weight=0.0), small_sac()
    state = agent.init(KEY, OBS_DIM, ACTION_DIM)
    ours, _ = agent.update(state, stacked(batch), KEY, "uniform")
    theirs, _ = sac.update(state, stacked(split_rows(batch, BATCH)[0]), KEY, "uniform")
    for left, right in zip(*map(jax.tree.leaves, (ours.policy, theirs.policy)), strict=True):
        np.testing.assert_allclose(left, right, atol=1e-6)


def test_several_critic_steps_take_a_minibatch_each_and_the_policy_the_last_ones_pairs():
    one = make_batch(BATCH + SHOWN)
    other = one._replace(obs=-one.obs, action=-one.action, reward=-one.reward)
    several = jax.tree.map(lambda a, b: jnp.stack([a, b]), other, one)
    agent, sac = small_agent(utd_ratio=2), small_sac(utd_ratio=2)
    assert (agent.batch_spec(BATCH).minibatches, agent.batch_spec(BATCH).demonstrated) == (2, SHOWN)
    state = agent.init(KEY, OBS_DIM, ACTION_DIM)
    _, info = agent.update(state, several, KEY, "uniform")
    replayed, demo_batch = split_rows(several, BATCH)
    _, sac_info = sac.update(state, replayed, KEY, "uniform")
    log_prob = log_likelihood(state.policy, demo_batch.obs[-1], demo_batch.action[-1])
    expected = float(sac_info["policy_loss"]) - agent.imitation_weight * float(log_prob.mean())
    assert float(info["policy_loss"]) == pytest.approx(expected, rel=1e-5)
    assert float(info["critic_loss"]) == pytest.approx(float(sac_info["critic_loss"]), rel=1e-6)


def test_actions_on_the_boxs_border_have_a_finite_density():
    agent, batch = small_agent(), make_batch(BATCH + SHOWN)
    batch = batch._replace(action=jnp.sign(batch.action))
    _, info = agent.update(agent.init(KEY, OBS_DIM, ACTION_DIM), stacked(batch), KEY, "uniform")
    assert all(np.isfinite(value) for value in info.values())


def test_demonstrations_stand_behind_the_whole_minibatch():
    draw = small_agent().batch_spec(32)
    assert (draw.replayed, draw.demonstrated, draw.minibatches, draw.n_step) == (32, SHOWN, 1, 0)


def test_settings_that_cannot_work_are_refused():
    for settings in (
        {"demo_batch_size": 0},
        {"imitation_weight": -1.0},
        {"offline_ratio": 0.5},
        {"head": "anchored"},
    ):
        with pytest.raises(UserError, match=next(iter(settings))):
            SACBC(**{**SIZES, **settings})


def test_a_run_from_demonstrations_with_rewards(tmp_path):
    run, metrics = train_on_demos(small_agent().agent, tmp_path)
    assert run.progress.updates > 10
    assert metrics["imitated"][-1] == 1.0
