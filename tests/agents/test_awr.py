import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from compiled import Compiled
from episodes import KEY, episode_replay, with_dirt
from nppac.agents.awr import AWR, box_violation, imitation_weights
from nppac.agents.base import MinibatchAgent, ReplayAgent
from nppac.evaluation.metrics import load_metrics
from nppac.training.runs import start_run
from nppac.types import DemoBatch, ReferenceStats
from nppac.utils.errors import UserError
from toy_task import SCHEDULE, TASK, make_config, write_demos

SMALL = AWR(
    policy_hidden=(16,), critic_hidden=(16,), critic_updates=20, policy_updates=30, minibatch_size=8
)

PROGRAMS = Compiled(SMALL)


def test_it_learns_from_the_whole_replay():
    assert isinstance(SMALL, ReplayAgent)
    assert not isinstance(SMALL, MinibatchAgent)
    assert SMALL.updates_per_epoch == 50


def test_weights_by_hand():
    advantage, inside = jnp.array([1.0, -1.0, 1e3]), jnp.array([1.0, 1.0, 0.0])
    weights = imitation_weights(advantage, inside, 2.0, 20.0)
    np.testing.assert_allclose(weights, [np.exp(0.5), np.exp(-0.5), 20.0], rtol=1e-4)


def test_the_box_is_free_inside_and_quadratic_outside():
    assert float(box_violation(jnp.array([[0.5, -1.0]]))) == 0.0
    assert float(box_violation(jnp.array([[1.5, -3.0], [0.0, 0.0]]))) == pytest.approx(1.0625)


@pytest.mark.parametrize("sizes", [(24,), (40,), (40, 20)])
def test_learning_moves_all_but_the_scale(sizes):
    replay, state = episode_replay(40, *sizes), PROGRAMS.init(KEY, 3, 2)
    after, info = PROGRAMS.learn(state, replay, None, KEY, "uniform")
    np.testing.assert_array_equal(after.policy.log_scale, state.policy.log_scale)
    np.testing.assert_allclose(after.policy.log_scale, np.log(0.4), rtol=1e-6)
    for name in ("policy", "critic"):
        moved = jax.tree.map(
            lambda a, b: float(jnp.abs(a - b).max()),
            *(
                (getattr(s, name).trunk if name == "policy" else getattr(s, name))
                for s in (state, after)
            ),
        )
        assert min(jax.tree.leaves(moved)) > 0
    assert all(np.shape(value) == () and np.isfinite(value) for value in info.values())
    rows = np.asarray(replay.storage.obs)[: int(replay.size)]
    np.testing.assert_allclose(after.scaling.mean, rows.mean(0), rtol=1e-4)


def test_what_lies_in_empty_rows_does_not_matter():
    replay, state = episode_replay(40, 24), PROGRAMS.init(KEY, 3, 2)
    clean, _ = PROGRAMS.learn(state, replay, None, KEY, "uniform")
    other, _ = PROGRAMS.learn(state, with_dirt(replay, 24), None, KEY, "uniform")
    for ours, theirs in zip(jax.tree.leaves(clean), jax.tree.leaves(other), strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-5)


def test_it_prefers_the_action_that_pays():
    """One-step episodes whose reward is the action: the mean has to go up."""
    replay = episode_replay(200, 200, length=1)
    storage = replay.storage._replace(
        reward=replay.storage.action[:, 0], discount_mask=jnp.zeros(200)
    )
    settings = {"policy_updates": 500, "policy_learning_rate": 3e-4, "minibatch_size": 100}
    agent = Compiled(dataclasses.replace(SMALL, **settings))
    state = agent.init(KEY, 3, 2)
    state, info = agent.learn(state, replay._replace(storage=storage), None, KEY, "uniform")
    mean = agent.mode(state, storage.obs, None).mean(0)
    assert float(mean[0]) > 0.3
    assert abs(float(mean[1])) < 0.15
    assert float(info["step_kl"]) > 0


def test_cloning_imitates():
    agent = Compiled(dataclasses.replace(SMALL, policy_learning_rate=1e-2))
    state, obs = agent.init(KEY, 3, 2), jax.random.normal(KEY, (64, 3))
    action = 0.5 * jnp.tanh(obs[:, :2])
    demo_batch = DemoBatch(obs, action, ReferenceStats(action, jnp.ones_like(action)))
    before = float(jnp.mean((agent.mode(state, obs, None) - action) ** 2))
    for i in range(200):
        state, info = agent.pretrain_step(state, demo_batch, jax.random.fold_in(KEY, i), "uniform")
    assert np.isfinite(float(info["pretrain_loss"]))
    assert float(jnp.mean((agent.mode(state, obs, None) - action) ** 2)) < 0.2 * before


def test_a_run_on_the_toy_task(tmp_path):
    schedule = dataclasses.replace(SCHEDULE, demos_in_replay=True, warmup_steps=0)
    demos = write_demos(tmp_path / "demos.npz")
    config = make_config(method="awr", agent=SMALL, schedule=schedule, demos=str(demos))
    summary = start_run(config, tmp_path / "run")
    assert summary["updates"] == 5 * SMALL.updates_per_epoch
    metrics = load_metrics(tmp_path / "run" / "metrics.csv")
    assert {"step_kl", "mean_weight", "explained_variance"} <= metrics.keys()
    assert np.isfinite(metrics["policy_loss"][1:]).all()


def test_demonstrations_without_rewards_are_refused(tmp_path):
    config = make_config(method="awr", agent=SMALL, task=TASK)
    with pytest.raises(UserError, match="needs demonstrations"):
        start_run(config, tmp_path / "run")


@pytest.mark.parametrize("settings", [{"scale": 0.0}, {"policy_updates": 0}, {"momentum": -1.0}])
def test_settings_out_of_range_are_refused(settings):
    with pytest.raises(UserError, match=r"must"):
        AWR(**settings)
