from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from nppac.references import UniformReference
from nppac.tasks import get_task, make_env
from nppac.training import epoch as epochs
from nppac.training import loop as training
from nppac.training import pretraining as warm_start
from nppac.training.advice import LastingWarning
from nppac.types import Episode
from nppac.utils.errors import UserError
from nppac.utils.random import random_stream
from toy_run import Watched, column, make_problem, recorded, run
from toy_task import (
    ACTION_DIM,
    AGENT,
    HORIZON,
    OBS_DIM,
    SCHEDULE,
    TASK,
    assert_same_run,
    expert,
    state_of,
)


def test_a_run_follows_from_its_seed(tmp_path):
    for name, seed in (("a", 0), ("b", 0), ("c", 1)):
        run(tmp_path / name, seed=seed)
    assert_same_run(tmp_path / "a", tmp_path / "b")
    first, other = state_of(tmp_path / "a"), state_of(tmp_path / "c")
    differing = {name for name in first if not np.array_equal(first[name], other[name])}
    for part in ("state/.policy.", "state/.critic.", "replay/.obs", "replay/.action"):
        assert any(name.startswith(part) for name in differing), part


def test_no_key_is_used_twice(tmp_path, monkeypatch):
    """Each epoch's noise and minibatches, in each seed, from a stream of their own."""
    keys = []

    def listen(name, position):
        inner = getattr(epochs, name)

        def heard(*args):
            keys.append(tuple(jax.random.key_data(args[position]).tolist()))
            return inner(*args)

        monkeypatch.setattr(epochs, name, heard)

    listen("exploring_policy", 2)
    listen("run_updates", 3)
    for seed in (0, 1):
        run(tmp_path / str(seed), replace(SCHEDULE, updates_per_step=0.0), seed=seed)
    assert len(keys) == len(set(keys)) == 2 * 2 * SCHEDULE.epochs


def test_nothing_is_updated_before_the_warm_up_and_then_as_often_as_told(tmp_path, monkeypatch):
    monkeypatch.setattr("nppac.training.updates.UPDATES_PER_SCAN", 20)
    run(tmp_path, replace(SCHEDULE, warmup_steps=50, updates_per_step=2.0))
    np.testing.assert_array_equal(column(tmp_path, "env_steps"), [0, 20, 40, 60, 80, 100])
    np.testing.assert_array_equal(column(tmp_path, "updates"), [0, 0, 0, 40, 80, 120])
    measured = [False, False, False, True, True, True]
    for name in ("kl", "q", "critic_loss", "policy_gradient", "updates_per_second"):
        np.testing.assert_array_equal(np.isfinite(column(tmp_path, name)), measured)


def test_without_updates_the_networks_stay_as_initialised(tmp_path):
    done = run(tmp_path, replace(SCHEDULE, updates_per_step=0.0))
    assert done.progress.updates == 0
    fresh = AGENT.init(random_stream(0, "init"), OBS_DIM, ACTION_DIM)
    for ours, theirs in zip(jax.tree.leaves(done.state), jax.tree.leaves(fresh), strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_evaluations_come_before_the_first_step_at_their_interval_and_at_the_end(tmp_path):
    run(tmp_path)  # every 40 of 100
    evaluated = np.isfinite(column(tmp_path, "eval_return_mean"))
    np.testing.assert_array_equal(column(tmp_path, "env_steps")[evaluated], [0, 40, 80, 100])
    assert (column(tmp_path, "eval_return_mean")[evaluated] < 0).all()
    assert np.isfinite(column(tmp_path, "eval_success_any")[evaluated]).all()
    collected = np.isfinite(column(tmp_path, "train_return_mean"))
    np.testing.assert_array_equal(collected, [False, True, True, True, True, True])


def test_the_oldest_transitions_leave_a_full_replay(tmp_path):
    done = run(tmp_path)  # 100 steps into 60 rows, in episodes of 7 and less
    assert int(done.replay.size) == done.replay.capacity == 60
    assert int(done.replay.position) == 40
    long = run(tmp_path / "all", replace(SCHEDULE, replay_capacity=1000, updates_per_step=0.0))
    assert long.replay.capacity == 100  # no more than can ever be filled
    first_epochs = np.asarray(long.replay.storage.obs)[:20]  # before any update: the same walk
    assert not any(
        (np.asarray(done.replay.storage.obs) == row).all(1).any() for row in first_epochs
    )


def test_the_reference_is_asked_once_for_each_new_observation(tmp_path):
    reference = Watched()
    done = run(tmp_path, reference=reference)
    assert len(reference.asked) == SCHEDULE.epochs  # one call an epoch, however many updates
    asked = np.concatenate(reference.asked)
    assert len(asked) == SCHEDULE.steps + done.progress.episodes  # and one last state an episode
    assert len(np.unique(asked, axis=0)) == len(asked)
    storage = done.replay.storage
    np.testing.assert_array_equal(storage.reference.loc, expert(np.asarray(storage.obs)))
    np.testing.assert_array_equal(storage.next_reference.loc, expert(np.asarray(storage.next_obs)))


def test_pretraining_pulls_the_policy_to_the_reference(tmp_path):
    obs = np.random.default_rng(0).normal(size=(64, OBS_DIM)).astype(np.float32)
    demos = (Episode(obs, np.zeros((64, ACTION_DIM), np.float32)),)
    schedule = replace(SCHEDULE, updates_per_step=0.0, pretrain_batch_size=16)
    agent = replace(AGENT, learning_rate=0.01)

    def distance(directory, epochs):
        pretrained = replace(schedule, pretrain_epochs=epochs)
        done = run(directory, pretrained, agent=agent, demos=demos)
        return np.abs(
            np.asarray(agent.mode(done.state, jnp.asarray(obs), None)) - expert(obs)
        ).mean()

    before, after = distance(tmp_path / "not", 0), distance(tmp_path / "pretrained", 60)
    assert after < 0.5 * before
    first = [column(tmp_path / name, "eval_return_mean")[0] for name in ("not", "pretrained")]
    assert first[1] > first[0]  # and it shows before the first step


def test_a_reference_without_variance_ends_the_run_and_keeps_its_checkpoint(tmp_path):
    with pytest.raises(UserError, match="Training diverged"):
        run(tmp_path, reference=Watched(scale=1e-30))
    assert state_of(tmp_path)["progress/env_steps"] == 0
    np.testing.assert_array_equal(column(tmp_path, "env_steps"), [0, 20])


def test_a_sick_reference_is_named_before_it_reaches_the_replay(tmp_path):
    with pytest.raises(UserError, match="scale that is not positive"):
        run(tmp_path, reference=Watched(scale=0.0))


def test_the_uniform_reference_trains_too(tmp_path):
    run(tmp_path, reference=UniformReference(ACTION_DIM))
    assert np.isfinite(column(tmp_path, "kl")[2:]).all()
    np.testing.assert_allclose(column(tmp_path, "reference_scale")[2:], 1.0)


def test_the_toy_task_ends_by_itself_and_by_time():
    lengths = {
        len(episode)
        for act in (expert, lambda rows: np.sign(rows[:, :2]))
        for episode in epochs.collect(make_env(get_task(TASK)), act, iter(range(99)), 100)[:-1]
    }
    assert HORIZON in lengths
    assert min(lengths) < HORIZON


def test_demonstrations_are_in_the_replay_before_the_first_step(tmp_path):
    demos = recorded()
    schedule = replace(SCHEDULE, demos_in_replay=True, replay_capacity=1000, updates_per_step=0.0)
    done = run(tmp_path, schedule, demos=demos)
    assert done.replay.capacity == schedule.steps + 21  # room for both
    assert int(done.replay.size) == schedule.steps + 21
    shown = np.concatenate([e.observations[: len(e)] for e in demos])
    np.testing.assert_array_equal(done.replay.storage.obs[:21], shown)
    rewards = np.concatenate([e.rewards for e in demos])
    np.testing.assert_array_equal(done.replay.storage.reward[:21], rewards)
    np.testing.assert_array_equal(done.replay.storage.reference.loc[:21], expert(shown))


def test_a_replay_that_is_too_small_takes_the_newest_demonstrations(tmp_path):
    demos = recorded(12)
    schedule = replace(SCHEDULE, demos_in_replay=True, updates_per_step=0.0)
    problem = make_problem(demos=demos)
    tmp_path.mkdir(exist_ok=True)
    started = training._start(problem, AGENT, schedule, 0, tmp_path)
    shown = np.concatenate([e.observations[: len(e)] for e in demos])
    assert started.replay.capacity == int(started.replay.size) == 60
    np.testing.assert_array_equal(started.replay.storage.obs, shown[-60:])


def test_offline_updates_come_first_and_are_counted(tmp_path, monkeypatch):
    monkeypatch.setattr(warm_start, "OFFLINE_ROUND", 4)
    monkeypatch.setattr("nppac.training.updates.UPDATES_PER_SCAN", 2)
    heard, inner = [], epochs.run_updates

    def run_updates(agent, state, replay, key, updates, *rest):
        heard.append((int(replay.size), updates, tuple(jax.random.key_data(key).tolist())))
        return inner(agent, state, replay, key, updates, *rest)

    for module in (epochs, warm_start):
        monkeypatch.setattr(module, "run_updates", run_updates)
    schedule = replace(SCHEDULE, steps=20, eval_every=20, checkpoint_every=20, offline_updates=10)
    done = run(tmp_path, schedule, demos=recorded())
    assert [h[:2] for h in heard] == [(21, 4), (21, 4), (21, 2), (20, 0)]
    assert len({key for *_, key in heard}) == 4
    assert done.progress.updates == 10
    np.testing.assert_array_equal(column(tmp_path, "updates"), [10, 10])
    fresh = AGENT.init(random_stream(0, "init"), OBS_DIM, ACTION_DIM)
    assert not np.array_equal(done.state.policy.trunk.weights[0], fresh.policy.trunk.weights[0])


def test_offline_updates_without_rewards_are_refused(tmp_path):
    bare = tuple(replace(e, rewards=None) for e in recorded())
    with pytest.raises(UserError, match="diverged"):
        run(tmp_path, replace(SCHEDULE, offline_updates=2), demos=bare)


def test_the_first_steps_are_random_as_far_as_told(tmp_path):
    schedule = replace(SCHEDULE, random_steps=30, replay_capacity=1000, updates_per_step=0.0)
    timid = replace(AGENT, exploration_noise=0.0)  # its own actions are nearly nothing
    actions = np.asarray(run(tmp_path, schedule, agent=timid).replay.storage.action)
    assert np.abs(actions[:40]).mean() == pytest.approx(0.5, abs=0.1)  # whole epochs of 20
    assert np.abs(actions[40:]).max() < 0.1
    again = np.asarray(run(tmp_path / "again", schedule, agent=timid).replay.storage.action)
    np.testing.assert_array_equal(again, actions)
    assert not np.array_equal(actions[:20], actions[20:40])


def test_a_run_warns_once_of_a_penalty_that_outweighs_several_epochs(tmp_path, monkeypatch, capsys):
    epochs_told = iter([True, True, False] + 5 * [True])
    heavy = lambda *_: "too heavy" if next(epochs_told) else None  # noqa: E731
    monkeypatch.setattr(training, "lasting_warnings", lambda: [LastingWarning(heavy, 3)])
    one = SCHEDULE.epoch_steps
    run(tmp_path, schedule=replace(SCHEDULE, steps=5 * one, eval_every=one, checkpoint_every=one))
    assert "too heavy" not in capsys.readouterr().err  # never three epochs in a row
    run(tmp_path, schedule=replace(SCHEDULE, steps=8 * one, eval_every=one, checkpoint_every=one))
    assert capsys.readouterr().err.count("too heavy") == 1
