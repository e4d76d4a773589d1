import os
import signal
from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from nppac import training, warm_start
from nppac.errors import UserError
from nppac.references import Reference, UniformReference
from nppac.results import load_metrics
from nppac.tasks import get_task, make_env
from nppac.training import Interrupted, train
from nppac.types import Episode, ReferenceStats
from nppac.warm_start import Problem
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


class Watched(Reference):
    """The expert with a constant scale; keeps what it was asked."""

    family = "normal"

    def __init__(self, scale=0.5):
        self.scale, self.asked = scale, []

    def __call__(self, obs):
        self.asked.append(obs.copy())
        return ReferenceStats(expert(obs), np.full((len(obs), ACTION_DIM), self.scale, np.float32))

    def mean(self, obs):
        return expert(obs)

    def save(self, path):
        raise AssertionError("the training loop saves no reference")

    def summary(self):
        return {}


def make_problem(reference=None, demos=()):
    spec = get_task(TASK)
    return Problem(
        env=make_env(spec),
        eval_envs=(make_env(spec), make_env(spec)),
        reference=reference or Watched(),
        demos=demos,
        obs_dim=OBS_DIM,
        action_dim=ACTION_DIM,
    )


def run(directory, schedule=SCHEDULE, seed=0, agent=AGENT, **problem):
    directory.mkdir(exist_ok=True)
    return train(make_problem(**problem), agent, schedule, seed, directory)


def column(directory, name):
    return load_metrics(directory / "metrics.csv")[name]


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
        inner = getattr(training, name)

        def heard(*args):
            keys.append(tuple(jax.random.key_data(args[position]).tolist()))
            return inner(*args)

        monkeypatch.setattr(training, name, heard)

    listen("exploring_policy", 2)
    listen("run_updates", 3)
    for seed in (0, 1):
        run(tmp_path / str(seed), replace(SCHEDULE, updates_per_step=0.0), seed=seed)
    assert len(keys) == len(set(keys)) == 2 * 2 * SCHEDULE.epochs


def test_nothing_is_updated_before_the_warm_up_and_then_as_often_as_told(tmp_path, monkeypatch):
    monkeypatch.setattr("nppac.updates.UPDATES_PER_SCAN", 20)
    run(tmp_path, replace(SCHEDULE, warmup_steps=50, updates_per_step=2.0))
    np.testing.assert_array_equal(column(tmp_path, "env_steps"), [0, 20, 40, 60, 80, 100])
    np.testing.assert_array_equal(column(tmp_path, "updates"), [0, 0, 0, 40, 80, 120])
    measured = [False, False, False, True, True, True]
    for name in ("kl", "q", "critic_loss", "policy_gradient", "updates_per_second"):
        np.testing.assert_array_equal(np.isfinite(column(tmp_path, name)), measured)


def test_without_updates_the_networks_stay_as_initialised(tmp_path):
    done = run(tmp_path, replace(SCHEDULE, updates_per_step=0.0))
    assert done.progress.updates == 0
    fresh = AGENT.init(training.stream(0, "init"), OBS_DIM, ACTION_DIM)
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


class Killed(Exception):
    """What a test ends a process with."""


def kill_after(monkeypatch, function, calls):
    """Let `training.function` succeed so often and then end the run."""
    inner, count = getattr(training, function), 0

    def counted(*args):
        nonlocal count
        if count == calls:
            raise Killed
        count += 1
        return inner(*args)

    monkeypatch.setattr(training, function, counted)


@pytest.mark.parametrize("function", ["append_row", "save_checkpoint", "run_updates", "insert"])
@pytest.mark.parametrize("calls", [1, 2, 3])
def test_wherever_a_run_is_cut_it_continues_as_if_it_had_not_been(
    tmp_path, monkeypatch, uninterrupted, function, calls
):
    with monkeypatch.context() as patch:
        kill_after(patch, function, calls)
        with pytest.raises(Killed):
            run(tmp_path)
    run(tmp_path)
    assert_same_run(tmp_path, uninterrupted)


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory):
    directory = tmp_path_factory.mktemp("uninterrupted")
    run(directory)
    return directory


def test_a_run_cut_before_its_first_checkpoint_starts_over(tmp_path, monkeypatch, uninterrupted):
    with monkeypatch.context() as patch:
        kill_after(patch, "save_checkpoint", 0)
        with pytest.raises(Killed):
            run(tmp_path)
    assert (tmp_path / "metrics.csv").exists()
    run(tmp_path)
    assert_same_run(tmp_path, uninterrupted)


def test_rows_beyond_the_checkpoint_and_a_torn_line_are_written_again(
    tmp_path, monkeypatch, uninterrupted
):
    with monkeypatch.context() as patch:
        kill_after(patch, "append_row", 3)  # at 0, 20 and 40 steps
        with pytest.raises(Killed):
            run(tmp_path)
    with (tmp_path / "metrics.csv").open("a") as file:
        file.write("60,40,1.5" + "," * 14 + "\n80,6")
    run(tmp_path)
    np.testing.assert_array_equal(column(tmp_path, "env_steps"), [0, 20, 40, 60, 80, 100])
    assert_same_run(tmp_path, uninterrupted)


@pytest.mark.parametrize("capacity", [60, 1000])
def test_a_finished_run_can_be_extended(tmp_path, capacity):
    """With room for all steps the ring itself grows; the longer run is the one from the start."""
    long = replace(SCHEDULE, replay_capacity=capacity, eval_every=20)
    run(tmp_path / "whole", long)
    run(tmp_path / "extended", replace(long, steps=60))
    done = run(tmp_path / "extended", long)
    assert done.replay.capacity == min(capacity, 100)
    assert_same_run(tmp_path / "extended", tmp_path / "whole")


def test_a_finished_run_is_left_as_it_is(tmp_path):
    run(tmp_path)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    done = run(tmp_path)
    assert done.progress.env_steps == 100
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def interrupt_at(monkeypatch, *collections):
    """Press Ctrl-C while these epochs collect."""
    inner, count = training.collect, 0

    def collect(*args):
        nonlocal count
        count += 1
        if count in collections:
            os.kill(os.getpid(), signal.SIGINT)
        return inner(*args)

    monkeypatch.setattr(training, "collect", collect)


def test_ctrl_c_finishes_the_epoch_and_saves_it(tmp_path, monkeypatch, capfd, uninterrupted):
    usual = signal.getsignal(signal.SIGINT)
    with monkeypatch.context() as patch:
        interrupt_at(patch, 3)
        with pytest.raises(Interrupted):
            run(tmp_path)
    assert "Finishing this epoch" in capfd.readouterr().err
    assert signal.getsignal(signal.SIGINT) is usual
    assert state_of(tmp_path)["progress/env_steps"] == 60  # not a multiple of the interval, 40
    assert column(tmp_path, "env_steps")[-1] == 60
    run(tmp_path)
    assert_same_run(tmp_path, uninterrupted)


def test_ctrl_c_in_the_last_epoch_lets_the_run_end(tmp_path, monkeypatch, uninterrupted):
    interrupt_at(monkeypatch, 5)
    assert run(tmp_path).progress.env_steps == 100
    assert_same_run(tmp_path, uninterrupted)


def test_a_second_ctrl_c_stops_at_once(tmp_path, monkeypatch, uninterrupted):
    def collect(*_):
        os.kill(os.getpid(), signal.SIGINT)
        os.kill(os.getpid(), signal.SIGINT)
        pytest.fail("the second one did not interrupt")

    with monkeypatch.context() as patch:
        patch.setattr(training, "collect", collect)
        with pytest.raises(KeyboardInterrupt):
            run(tmp_path)
    run(tmp_path)
    assert_same_run(tmp_path, uninterrupted)


def test_the_uniform_reference_trains_too(tmp_path):
    run(tmp_path, reference=UniformReference(ACTION_DIM))
    assert np.isfinite(column(tmp_path, "kl")[2:]).all()
    np.testing.assert_allclose(column(tmp_path, "reference_scale")[2:], 1.0)


def test_the_toy_task_ends_by_itself_and_by_time():
    lengths = {
        len(episode)
        for act in (expert, lambda rows: np.sign(rows[:, :2]))
        for episode in training.collect(make_env(get_task(TASK)), act, iter(range(99)), 100)[:-1]
    }
    assert HORIZON in lengths
    assert min(lengths) < HORIZON


def recorded(episodes=3):
    return tuple(training.collect(make_env(get_task(TASK)), expert, iter(range(99)), 7 * episodes))


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
    heard, inner = [], training.run_updates

    def run_updates(agent, state, replay, key, updates, *rest):
        heard.append((int(replay.size), updates, tuple(jax.random.key_data(key).tolist())))
        return inner(agent, state, replay, key, updates, *rest)

    for module in (training, warm_start):
        monkeypatch.setattr(module, "run_updates", run_updates)
    schedule = replace(SCHEDULE, steps=20, eval_every=20, checkpoint_every=20, offline_updates=10)
    done = run(tmp_path, schedule, demos=recorded())
    assert [h[:2] for h in heard] == [(21, 4), (21, 4), (21, 2), (20, 0)]
    assert len({key for *_, key in heard}) == 4
    assert done.progress.updates == 10
    np.testing.assert_array_equal(column(tmp_path, "updates"), [10, 10])
    fresh = AGENT.init(training.stream(0, "init"), OBS_DIM, ACTION_DIM)
    assert not np.array_equal(done.state.policy.trunk.weights[0], fresh.policy.trunk.weights[0])


def test_offline_updates_without_rewards_are_refused(tmp_path):
    bare = tuple(replace(e, rewards=None) for e in recorded())
    with pytest.raises(UserError, match="diverged"):
        run(tmp_path, replace(SCHEDULE, offline_updates=5), demos=bare)


def test_the_first_steps_are_random_as_far_as_told(tmp_path):
    schedule = replace(SCHEDULE, random_steps=30, replay_capacity=1000, updates_per_step=0.0)
    timid = replace(AGENT, exploration=0.0)  # its own actions are nearly nothing
    actions = np.asarray(run(tmp_path, schedule, agent=timid).replay.storage.action)
    assert np.abs(actions[:40]).mean() == pytest.approx(0.5, abs=0.1)  # whole epochs of 20
    assert np.abs(actions[40:]).max() < 0.1
    again = np.asarray(run(tmp_path / "again", schedule, agent=timid).replay.storage.action)
    np.testing.assert_array_equal(again, actions)
    assert not np.array_equal(actions[:20], actions[20:40])


@pytest.mark.parametrize(
    "settings",
    [
        {"demos_in_replay": True, "offline_updates": 6},
        {"random_steps": 60},
        {"demos_in_replay": True, "replay_capacity": 1000},
    ],
)
def test_a_run_with_demonstrations_is_resumed_bit_for_bit(tmp_path, monkeypatch, settings):
    schedule, demos = replace(SCHEDULE, **settings), recorded()
    agent = replace(AGENT, demo_share=0.25)
    run(tmp_path / "whole", schedule, agent=agent, demos=demos)
    collect, calls = training.collect, []

    def fail(*args):
        calls.append(args)
        if len(calls) == 4:
            raise RuntimeError
        return collect(*args)

    with monkeypatch.context() as patch:
        patch.setattr(training, "collect", fail)
        with pytest.raises(RuntimeError):
            run(tmp_path / "killed", schedule, agent=agent, demos=demos)
    run(tmp_path / "killed", schedule, agent=agent, demos=demos)
    assert_same_run(tmp_path / "killed", tmp_path / "whole")
