import os
import signal
import threading
import time
from contextlib import suppress

import pytest

from nppac.training import epoch as training
from nppac.training import signals
from nppac.training.runs import start_run
from nppac.training.signals import (
    Interrupted,
    StoppedAtOnce,
    exit_code,
    stopping_after_epoch,
    stopping_at_once,
)
from toy_run import run
from toy_task import assert_same_run, make_config, state_of


def send(signum):
    os.kill(os.getpid(), signum)


@pytest.fixture
def heard():
    """SIGHUP as a terminal sends it; whoever started the tests with `nohup` has it ignored."""
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGHUP, before)


@pytest.mark.parametrize("signum", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_each_signal_finishes_the_epoch_and_saves_it(tmp_path, monkeypatch, capfd, signum, heard):
    run(tmp_path / "whole")
    before, inner, count = signal.getsignal(signum), training.collect, 0

    def collect(*args):
        nonlocal count
        count += 1
        if count == 3:
            send(signum)
        return inner(*args)

    with monkeypatch.context() as patch:
        patch.setattr(training, "collect", collect)
        with pytest.raises(Interrupted) as caught:
            run(tmp_path / "stopped")
    assert exit_code(caught.value) == 128 + signum
    assert "Finishing this epoch" in capfd.readouterr().err
    assert signal.getsignal(signum) is before
    assert state_of(tmp_path / "stopped")["progress/env_steps"] == 60
    run(tmp_path / "stopped")
    assert_same_run(tmp_path / "stopped", tmp_path / "whole")


def test_a_second_signal_of_any_kind_stops_at_once(capfd):
    with stopping_after_epoch() as requested:
        assert requested() is None
        send(signal.SIGINT)
        assert requested() == signal.SIGINT
        with pytest.raises(StoppedAtOnce) as caught:
            send(signal.SIGTERM)
    assert exit_code(caught.value) == 143


@pytest.mark.parametrize("signum", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_before_training_stops_at_once(tmp_path, monkeypatch, signum):
    monkeypatch.setattr("nppac.training.runs.get_task", lambda _: send(signum))
    with pytest.raises(KeyboardInterrupt) as caught:
        start_run(make_config(), tmp_path / "run")
    assert exit_code(caught.value) == 128 + signum
    assert not (tmp_path / "run").exists()


def test_a_run_that_shall_survive_its_terminal_does():
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with stopping_at_once():
            send(signal.SIGHUP)
    finally:
        signal.signal(signal.SIGHUP, before)


def test_signals_of_other_threads_are_left_alone():
    before, seen = signal.getsignal(signal.SIGINT), []

    def work():
        with stopping_at_once(), stopping_after_epoch() as requested:
            seen.append((requested(), signal.getsignal(signal.SIGINT)))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [(None, before)]


def test_a_plain_keyboard_interrupt_is_ctrl_c():
    assert exit_code(KeyboardInterrupt()) == 130


def test_a_stop_that_python_swallowed_comes_again(monkeypatch):
    monkeypatch.setattr(signals, "AGAIN_SECONDS", 0.05)

    def swallow_and_go_on():
        with suppress(StoppedAtOnce):
            send(signal.SIGTERM)
        time.sleep(10)

    with pytest.raises(StoppedAtOnce, match="SIGTERM"), stopping_at_once():
        swallow_and_go_on()
    assert signal.getitimer(signal.ITIMER_REAL) == (0, 0)
    assert signal.getsignal(signal.SIGALRM) is signal.SIG_DFL


def test_an_alarm_of_somebody_else_is_left_alone():
    usual = signal.signal(signal.SIGALRM, signal.SIG_IGN)
    try:
        with pytest.raises(StoppedAtOnce), stopping_at_once():
            send(signal.SIGTERM)
        assert signal.getsignal(signal.SIGALRM) is signal.SIG_IGN
        assert signal.getitimer(signal.ITIMER_REAL) == (0, 0)
    finally:
        signal.signal(signal.SIGALRM, usual)
