"""Runs that are killed, interrupted or extended."""

import os
import shutil
import signal
from dataclasses import replace

import jax
import numpy as np
import pytest

from nppac.training import epoch, incumbent
from nppac.training import loop as training
from nppac.training.loop import Interrupted
from nppac.utils.errors import UserError
from toy_run import column, recorded, run
from toy_task import AGENT, SCHEDULE, assert_same_run, state_of


class Killed(Exception):
    """What a test ends a process with."""


def kill_after(monkeypatch, function, calls):
    """Let a function of the training loop succeed so often and then end the run."""
    module = next(m for m in (epoch, training, incumbent) if hasattr(m, function))
    inner, count = getattr(module, function), 0

    def counted(*args):
        nonlocal count
        if count == calls:
            raise Killed
        count += 1
        return inner(*args)

    monkeypatch.setattr(module, function, counted)


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory):
    directory = tmp_path_factory.mktemp("uninterrupted")
    run(directory)
    return directory


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
    columns = (tmp_path / "metrics.csv").read_text().partition("\n")[0].count(",") + 1
    with (tmp_path / "metrics.csv").open("a") as file:
        file.write("60,40,1.5" + "," * (columns - 3) + "\n80,6")
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


def test_a_finished_run_is_left_as_it_is(tmp_path, uninterrupted):
    shutil.copytree(uninterrupted, tmp_path, dirs_exist_ok=True)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    done = run(tmp_path)
    assert done.progress.env_steps == 100
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def interrupt_at(monkeypatch, *collections):
    """Press Ctrl-C while these epochs collect."""
    inner, count = epoch.collect, 0

    def collect(*args):
        nonlocal count
        count += 1
        if count in collections:
            os.kill(os.getpid(), signal.SIGINT)
        return inner(*args)

    monkeypatch.setattr(epoch, "collect", collect)


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
        patch.setattr(epoch, "collect", collect)
        with pytest.raises(KeyboardInterrupt):
            run(tmp_path)
    run(tmp_path)
    assert_same_run(tmp_path, uninterrupted)


@pytest.mark.parametrize(
    "settings",
    [
        {"demos_in_replay": True, "offline_updates": SCHEDULE.updates_per_epoch},
        {"random_steps": 60},
        {"demos_in_replay": True, "replay_capacity": 1000},
    ],
)
def test_a_run_with_demonstrations_is_resumed_bit_for_bit(tmp_path, monkeypatch, settings):
    schedule, demos = replace(SCHEDULE, **settings), recorded()
    agent = replace(AGENT, offline_ratio=0.25)
    run(tmp_path / "whole", schedule, agent=agent, demos=demos)
    with monkeypatch.context() as patch:
        kill_after(patch, "collect", 3)
        with pytest.raises(Killed):
            run(tmp_path / "killed", schedule, agent=agent, demos=demos)
    run(tmp_path / "killed", schedule, agent=agent, demos=demos)
    assert_same_run(tmp_path / "killed", tmp_path / "whole")


def test_networks_that_the_last_updates_broke_are_not_saved(tmp_path, monkeypatch, uninterrupted):
    inner, count = epoch.run_updates, 0

    def run_updates(*args):
        nonlocal count
        count += 1
        state, info = inner(*args)
        broken = jax.tree.map(lambda leaf: leaf * np.nan if leaf.ndim == 2 else leaf, state)
        return (broken if count == 4 else state), info

    with monkeypatch.context() as patch:
        patch.setattr(epoch, "run_updates", run_updates)
        with pytest.raises(UserError, match=r"diverged: .* became NaN or infinite"):
            run(tmp_path)
    run(tmp_path)
    assert_same_run(tmp_path, uninterrupted)


CHALLENGED = replace(SCHEDULE, challenges=3, challenge_episodes=4)


@pytest.fixture(scope="module")
def challenged(tmp_path_factory):
    directory = tmp_path_factory.mktemp("challenged")
    run(directory, CHALLENGED)
    return directory


@pytest.mark.parametrize("calls", [3, 6])
def test_a_run_cut_in_a_test_of_its_policy_continues_as_if_it_had_not_been(
    tmp_path, monkeypatch, challenged, calls
):
    with monkeypatch.context() as patch:
        kill_after(patch, "rollout", calls)
        with pytest.raises(Killed):
            run(tmp_path / "cut", CHALLENGED)
    run(tmp_path / "cut", CHALLENGED)
    assert_same_run(challenged, tmp_path / "cut")
    assert column(tmp_path / "cut", "test_steps")[-1] > 0


def test_a_run_cut_before_a_test_still_knows_which_policy_it_is_for(tmp_path, monkeypatch):
    once = replace(SCHEDULE, challenges=1, challenge_episodes=4)
    whole = run(tmp_path / "whole", once).incumbent
    with monkeypatch.context() as patch:
        kill_after(patch, "append_row", 5)  # at 0, 20, 40, 60 and 80 steps
        with pytest.raises(Killed):
            run(tmp_path / "cut", once)
    assert "incumbent/contender/best" in state_of(tmp_path / "cut")
    assert run(tmp_path / "cut", once).incumbent.challenger_from == whole.challenger_from > 0
    assert_same_run(tmp_path / "whole", tmp_path / "cut")
