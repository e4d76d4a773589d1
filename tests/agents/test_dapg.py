import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from compiled import Compiled
from episodes import KEY, episode_batch, episode_replay, with_dirt
from nppac.agents.base import MinibatchAgent, ReplayAgent
from nppac.agents.common.natural_gradient import with_scale_floor
from nppac.agents.dapg import DAPG
from nppac.agents.replay import as_replay
from nppac.evaluation.metrics import load_metrics
from nppac.training.runs import start_run
from nppac.types import DemoBatch, ReferenceStats
from nppac.utils.errors import UserError
from toy_task import SCHEDULE, make_config, write_demos

SMALL = DAPG(policy_hidden=(6,), critic_hidden=(16,), critic_updates=20, minibatch_size=8)
PROGRAMS = Compiled(SMALL)


def blind_demos(rows=20, seed=9):
    """Demonstrations without rewards."""
    batch = episode_batch(rows, seed=seed)
    return as_replay(batch._replace(reward=np.full(rows, np.nan, np.float32)))


def learned(agent, demos, state=None, replay=None):
    state = PROGRAMS.init(KEY, 3, 2) if state is None else state
    replay = episode_replay(40, 40) if replay is None else replay
    program = Compiled(agent, "demo_weight", "step_size", "damping").learn
    return program(state, replay, demos, KEY, "uniform")


def flat(tree):
    return np.concatenate([np.ravel(leaf) for leaf in jax.tree.leaves(tree)])


def test_it_learns_from_the_whole_replay():
    assert isinstance(SMALL, ReplayAgent)
    assert not isinstance(SMALL, MinibatchAgent)
    assert SMALL.updates_per_epoch == 21


def test_a_step_moves_the_policy_by_the_kl_it_was_told_to():
    agent = dataclasses.replace(SMALL, step_size=1e-4, damping=1e-3)
    _, info = learned(agent, None)
    assert float(info["step_kl"]) == pytest.approx(0.5e-4, rel=0.2)


def test_without_weight_the_demonstrations_do_not_matter():
    agent = dataclasses.replace(SMALL, demo_weight=0.0)
    ours, others = (learned(agent, blind_demos(seed=seed))[0] for seed in (9, 10))
    none, _ = learned(SMALL, None)  # what weight they would have has no meaning
    leaves = (jax.tree.leaves(state) for state in (ours, others, none))
    for our, other, without in zip(*leaves, strict=True):
        np.testing.assert_array_equal(our, other)
        np.testing.assert_allclose(our, without, rtol=1e-4, atol=1e-6)  # of another program


def test_the_gradient_is_that_of_the_equation():
    """A tiny step with a Fisher matrix of nothing but damping goes along the plain gradient."""
    agent = dataclasses.replace(SMALL, damping=1e6, step_size=1e2, demo_weight=0.3)
    demos, replay, state = blind_demos(20), episode_replay(40, 40), PROGRAMS.init(KEY, 3, 2)
    state = state._replace(iteration=jnp.array(2, jnp.int32))
    after, info = learned(agent, demos, state, replay)
    returns, value = map(np.asarray, PROGRAMS.estimate(state, replay))
    advantage = (returns - value) - (returns - value).mean()
    advantage = advantage / advantage.std()

    def objective(policy):
        own = policy.log_prob(replay.storage.obs, replay.storage.action)
        demo_batch = policy.log_prob(demos.storage.obs, demos.storage.action)
        return (own * advantage).mean() + 0.3 * 0.95**2 * 20 / 40 * demo_batch.mean()

    expected = flat(jax.jit(jax.grad(objective))(state.policy))
    moved = flat(after.policy) - flat(state.policy)
    cosine = np.vdot(moved, expected) / np.linalg.norm(moved) / np.linalg.norm(expected)
    assert float(cosine) == pytest.approx(1.0, abs=1e-4)
    assert float(info["demo_weight"]) == pytest.approx(0.3 * 0.95**2)
    assert int(after.iteration) == 3


def test_the_pull_of_the_demonstrations_raises_their_likelihood():
    demos = blind_demos()
    _, info = learned(SMALL, demos)
    after, _ = learned(dataclasses.replace(SMALL, demo_weight=100.0), demos)
    log_prob = jax.jit(lambda policy, rows: policy.log_prob(rows.obs, rows.action).mean())
    assert float(log_prob(after.policy, demos.storage)) > float(info["demo_log_prob"])


def test_unknown_rewards_of_demonstrations_are_never_read():
    after, info = learned(SMALL, blind_demos())
    assert all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(after))
    assert all(np.shape(value) == () and np.isfinite(value) for value in info.values())


@pytest.mark.parametrize("rows", [None, 16])
def test_what_lies_in_empty_rows_does_not_matter(rows):
    agent = dataclasses.replace(SMALL, fisher_rows=rows)
    replay = episode_replay(40, 24)
    clean, _ = learned(agent, None, replay=replay)
    other, _ = learned(agent, None, replay=with_dirt(replay, 24))
    for ours, theirs in zip(jax.tree.leaves(clean), jax.tree.leaves(other), strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-4)


def test_the_scale_stops_at_its_floor_in_units_of_actions():
    policy = PROGRAMS.init(KEY, 3, 2).policy
    policy = dataclasses.replace(policy, log_scale=jnp.array([-9.0, 1.0]))
    bounded = with_scale_floor(policy, -0.5 - jnp.log(jnp.full(2, 0.5)))
    np.testing.assert_allclose(bounded.log_scale, [-0.5 - np.log(0.5), 1.0], rtol=1e-6)


def test_cloning_imitates_and_takes_its_scalings_from_the_demonstrations():
    state, obs = PROGRAMS.init(KEY, 3, 2), 4.0 + 2.0 * jax.random.normal(KEY, (64, 3))
    action = 0.3 + 0.2 * jnp.tanh(obs[:, :2] - 4.0)
    demo_batch = DemoBatch(obs, action, ReferenceStats(action, jnp.ones_like(action)))
    losses = []
    for i in range(400):
        state, info = PROGRAMS.pretrain_step(
            state, demo_batch, jax.random.fold_in(KEY, i), "uniform"
        )
        losses.append(float(info["pretrain_loss"]))
    assert losses[-1] < 0.2 * losses[0]
    np.testing.assert_allclose(state.scaling.mean, obs.mean(0), rtol=1e-4)
    draw = jax.jit(jax.vmap(lambda key: SMALL.sample(state, obs, None, key)))
    samples = draw(jax.random.split(KEY, 500))
    np.testing.assert_allclose(samples.std(0).mean(0), action.std(0), rtol=0.05)


def test_it_prefers_the_action_that_pays():
    replay = episode_replay(40, 40, length=1)
    storage = replay.storage._replace(
        reward=replay.storage.action[:, 0], discount_mask=jnp.zeros(40)
    )
    state, info = learned(SMALL, None, replay=replay._replace(storage=storage))
    mean = PROGRAMS.mode(state, storage.obs, None).mean(0)
    assert float(mean[0]) > 0.1
    assert float(info["policy_loss"]) < 0


def test_a_run_on_the_toy_task(tmp_path):
    schedule = dataclasses.replace(
        SCHEDULE, warmup_steps=0, replay_capacity=20, pretrain_epochs=5, pretrain_batch_size=8
    )
    demos = write_demos(tmp_path / "demos.npz")
    config = make_config(method="dapg", agent=SMALL, schedule=schedule, demos=str(demos))
    summary = start_run(config, tmp_path / "run")
    assert summary["updates"] == 5 * SMALL.updates_per_epoch
    metrics = load_metrics(tmp_path / "run" / "metrics.csv")
    np.testing.assert_allclose(metrics["demo_weight"][1:], 0.01 * 0.95 ** np.arange(5), rtol=1e-5)
    assert np.isfinite(metrics["step_kl"][1:]).all()


@pytest.mark.parametrize("settings", [{"step_size": 0.0}, {"damping": -1.0}, {"fisher_rows": 0}])
def test_settings_out_of_range_are_refused(settings):
    with pytest.raises(UserError, match=r"must"):
        DAPG(**settings)
