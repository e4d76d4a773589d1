"""RLPD: many critics, many critic steps, and demonstrations in half of each minibatch."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from optax import tree_utils

from compiled import Compiled
from method_runs import stacked
from nppac.agents.replay import as_replay
from nppac.nn.critics import CriticEnsemble
from nppac.training.presets import preset
from nppac.training.transitions import transitions
from nppac.training.updates import draw_batch
from nppac.types import Batch, Episode, ReferenceStats
from toy_task import ACTION_DIM, OBS_DIM

KEY = jax.random.key(0)
ROWS = 40


def method(name, task="halfcheetah", **settings) -> Compiled:
    """The method's agent as its authors have it, with small networks."""
    agent = preset(task, name, "paper").agent
    sizes = {"policy_hidden": (8,), "critic_hidden": (8,)}
    return Compiled(dataclasses.replace(agent, **sizes, **settings))


draw = jax.jit(draw_batch, static_argnums=3)


def stats(obs) -> ReferenceStats:
    return ReferenceStats(np.tanh(obs[:, :ACTION_DIM]), np.full((len(obs), ACTION_DIM), 0.5))


def make_replay(reward=0.0, terminated=False, seed=0):
    """Transitions that are known by their reward."""
    obs = np.random.default_rng(seed).normal(size=(ROWS + 1, OBS_DIM)).astype(np.float32)
    actions = np.tanh(obs[1:, :ACTION_DIM])
    rewards = np.full(ROWS, reward, np.float32)
    return as_replay(transitions([Episode(obs, actions, rewards, terminated=terminated)], stats))


def make_batch(**changes) -> Batch:
    return make_replay(0.3, terminated=True).storage._replace(**changes)


def same(left, right) -> None:
    for ours, theirs in zip(jax.tree.leaves(left), jax.tree.leaves(right), strict=True):
        np.testing.assert_array_equal(ours, theirs)


def steps(optimiser_state) -> int:
    return int(tree_utils.tree_get(optimiser_state, "count"))


def test_rlpd_takes_twenty_critic_steps_for_one_of_the_policy():
    rlpd = method("rlpd")
    state = rlpd.init(KEY, OBS_DIM, ACTION_DIM)
    batch = draw(make_replay(), make_replay(1.0), KEY, rlpd.batch_spec(16))
    after, _ = rlpd.update(state, batch, KEY, "uniform")
    assert steps(after.critic_optimiser) == 20
    assert steps(after.policy_optimiser) == 1
    assert steps(after.temperature_optimiser) == 1


def test_rlpd_moves_its_targets_at_every_critic_step():
    """With τ = 1 each target is the critic before it: only a copy made at each step follows."""
    rlpd = method("rlpd", utd_ratio=3, tau=1.0)
    state = rlpd.init(KEY, OBS_DIM, ACTION_DIM)
    batch = draw(make_replay(), make_replay(1.0), KEY, rlpd.batch_spec(ROWS))
    after, _ = rlpd.update(state, batch, KEY, "uniform")
    same(after.critic, after.target_critic)
    one = method("rlpd", utd_ratio=1, tau=1.0, offline_ratio=0.0)
    critic_key, _ = jax.random.split(KEY)
    for i, key in enumerate(jax.random.split(critic_key, 3)):
        minibatch = jax.tree.map(lambda column, i=i: column[i], batch)
        state, _ = one.update_critic(state, minibatch, key, "uniform")
    for ours, theirs in zip(
        jax.tree.leaves(after.critic), jax.tree.leaves(state.critic), strict=True
    ):
        np.testing.assert_allclose(ours, theirs, atol=1e-6)


def test_half_of_each_of_rlpds_minibatches_is_demonstrated():
    rlpd = method("rlpd")
    batch = draw(make_replay(0.0), make_replay(1.0, seed=1), KEY, rlpd.batch_spec(256))
    assert batch.reward.shape == (20, 256)
    np.testing.assert_array_equal(batch.reward.sum(axis=1), np.full(20, 128))
    np.testing.assert_array_equal(batch.reward[:, :128], np.zeros((20, 128)))
    rows = {tuple(np.asarray(minibatch[:, 0])) for minibatch in batch.obs}
    assert len(rows) == 20  # no minibatch twice


def test_rlpds_target_is_the_least_of_two_critics_and_never_of_one_twice():
    rlpd = method("rlpd")
    critic = CriticEnsemble(KEY, 10, 3, 2, (4,))
    everyone = critic(jnp.ones((5, 3)), jnp.ones((5, 2)))
    seen = set()
    for key in jax.random.split(KEY, 100):
        few = critic.random_members(key, rlpd.num_min_qs)
        chosen = few(jnp.ones((5, 3)), jnp.ones((5, 2)))
        same = np.isclose(chosen[:, None], everyone[None], rtol=1e-6).all(axis=-1)
        assert (same.sum(axis=1) == 1).all()  # each is one of the ten
        pair = set(np.flatnonzero(same.any(axis=0)))
        assert len(pair) == 2
        seen |= pair
    assert seen == set(range(10))


def test_rlpd_reduced_is_sac_at_half_its_entropy_target():
    settings = {"num_qs": 2, "num_min_qs": 2, "layer_norm": False, "offline_ratio": 0.0}
    rlpd = method("rlpd", utd_ratio=1, **settings)
    sac = method("sac", entropy_target=-0.5)
    assert (rlpd.policy_value, sac.policy_value) == ("mean", "min")
    state = sac.init(KEY, OBS_DIM, ACTION_DIM)

    def twins(ensemble):
        return jax.tree.map(lambda stacked: jnp.stack([stacked[0]] * 2), ensemble)

    state = state._replace(critic=twins(state.critic), target_critic=twins(state.target_critic))
    assert rlpd.batch_spec(16) == sac.batch_spec(16)
    (ours, info), (theirs, expected) = (
        agent.update(state, stacked(make_batch()), KEY, "uniform") for agent in (rlpd, sac)
    )
    for a, b in zip(jax.tree.leaves(ours), jax.tree.leaves(theirs), strict=True):
        np.testing.assert_allclose(a, b, atol=1e-7)
    assert info.keys() == expected.keys()


@pytest.mark.parametrize(("name", "per_dimension"), [("sac", -1.0), ("rlpd", -0.5)])
def test_the_entropy_that_a_tuned_temperature_aims_at(name, per_dimension):
    """At log π = -H̄ the temperature rests; above it rises, below it falls."""
    agent = method(name)
    state = agent.init(KEY, OBS_DIM, ACTION_DIM)

    def moved(log_prob):
        ratio = jnp.full(ROWS, log_prob + ACTION_DIM * np.log(2.0))
        after = agent.update_temperature(state, ratio, ACTION_DIM, "uniform")
        return float(after.log_temperature - state.log_temperature)

    aim = -per_dimension * ACTION_DIM
    assert moved(aim + 0.1) > 0 > moved(aim - 0.1)


@pytest.mark.parametrize("task", ["halfcheetah", "door"])
def test_rlpds_target_holds_the_entropy_on_locomotion_only(task):
    """By the authors' settings; without it the temperature does not show in the target."""
    rlpd = method("rlpd", task, utd_ratio=1, offline_ratio=0.0, tau=1.0)
    state, batch = rlpd.init(KEY, OBS_DIM, ACTION_DIM), make_batch()
    hot = state._replace(log_temperature=jnp.float32(3.0))
    first, second = (rlpd.update_critic(s, batch, KEY, "uniform")[1] for s in (state, hot))
    assert (float(first["critic_loss"]) == float(second["critic_loss"])) == (task == "door")


def test_rlpds_settings_are_its_authors():
    for task, hidden in (("ant", (256, 256)), ("pen", (256, 256, 256))):
        config = preset(task, "rlpd", "paper")
        agent, schedule = config.agent, config.schedule
        assert (agent.policy_hidden, agent.critic_hidden) == (hidden, hidden)
        assert (agent.num_qs, agent.num_min_qs, agent.utd_ratio) == (10, 2, 20)
        assert (agent.layer_norm, agent.head, agent.temperature) == (True, "tanh_normal", 1.0)
        assert (schedule.random_steps, schedule.warmup_steps, schedule.batch_size) == (
            5_000,
            5_000,
            256,
        )
