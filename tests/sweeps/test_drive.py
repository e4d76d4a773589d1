import os
import signal
import time

import pytest

from nppac.sweeps.drive import MOST_LOSSES, Driver
from nppac.sweeps.job import FAILED, STOPPED, Job, do_job
from nppac.sweeps.journal import read_journal
from nppac.sweeps.layout import SweepLayout
from nppac.sweeps.record import Manner, write_record
from nppac.sweeps.status import read_status
from nppac.sweeps.storage import Copies
from nppac.training import signals
from nppac.training.signals import stopping_at_once
from nppac.utils.errors import UserError
from toy_task import assert_same_run

from .toy_sweep import InProcess, toy_runs


def sweep(root, runs, before=lambda job: "do", retries=1):
    """Drive a sweep in this process; the engine, which has kept its jobs, and the states."""
    records = write_record(root, runs)
    engine = InProcess(root, before)
    Driver(Copies(root), records, retries).drive(engine, lambda active: None)
    assert engine.closed
    return engine, {state.name: state for state in read_status(root, records, ())}


def events(root, name):
    return [event.what for event in read_journal(SweepLayout(root).journal(name))]


def test_a_shared_reference_is_fitted_once_and_the_same_command_does_nothing(tmp_path, demos):
    variants = {"base": {}, "rare": {"checkpoint_every": 40}}
    runs = toy_runs(tmp_path, demos, variants=variants, seeds=(0,))
    engine, states = sweep(tmp_path, runs)
    assert [job.kind for job in engine.done] == ["fit", "run", "run"]
    assert {state.state for state in states.values()} == {"finished"}
    saved = [(run.directory / "reference.npz").read_bytes() for run in runs]
    assert saved[0] == saved[1]
    for run in runs:
        assert events(tmp_path, run.name) == ["started", "finished"]
    assert sweep(tmp_path, runs)[0].done == []
    (fit,) = {record.fit for record in write_record(tmp_path, runs)}
    do_job(str(tmp_path), Job("fit", fit))
    write_record(tmp_path, runs, Manner(refit=True))
    do_job(str(tmp_path), Job("fit", fit))
    assert events(tmp_path, fit) == ["started", "finished", "skipped", "started", "finished"]


def test_a_run_of_a_sweep_is_the_run_that_train_makes(tmp_path, demos):
    from nppac.training.runs import start_run

    (run,) = toy_runs(tmp_path / "sweep", demos, seeds=(1,))
    sweep(tmp_path / "sweep", [run])
    start_run(run.config, tmp_path / "alone")
    assert_same_run(run.directory, tmp_path / "alone")


def test_a_failed_run_is_tried_again_and_the_rest_goes_on(tmp_path):
    runs = toy_runs(tmp_path)
    bad = runs[0].name
    engine, states = sweep(tmp_path, runs, lambda job: -9 if job.name == bad else "do", retries=2)
    assert engine.done.count(Job("run", bad)) == 3
    assert (states[bad].state, states[bad].failures) == ("failed", 3)
    assert "SIGKILL ended it" in states[bad].reason
    assert states[runs[1].name].state == "finished"
    _, states = sweep(tmp_path, runs)  # the same command tries again
    assert states[bad].state == "finished"


def test_why_a_run_failed_is_said(tmp_path):
    (run,) = toy_runs(tmp_path, seeds=(0,))
    (run.directory).mkdir()
    (run.directory / "notes.txt").write_text("mine")
    _, states = sweep(tmp_path, [run], retries=0)
    assert "exists and is not empty" in states[run.name].reason
    assert (run.directory / "notes.txt").read_text() == "mine"


def test_a_lost_machine_is_no_failure_but_has_an_end(tmp_path):
    runs = toy_runs(tmp_path)
    lost = []

    def lose_twice(job):
        lost.append(job)
        return None if lost.count(job) <= 2 else "do"

    _, states = sweep(tmp_path, runs, lose_twice, retries=0)
    assert {(state.state, state.failures) for state in states.values()} == {("finished", 0)}
    engine, _ = sweep(tmp_path / "b", toy_runs(tmp_path / "b", seeds=(0,)), lambda job: None)
    assert len(engine.done) == MOST_LOSSES + 1


def test_runs_whose_reference_fails_are_told_so(tmp_path, demos):
    runs = toy_runs(tmp_path, demos, seeds=(0,))
    _, states = sweep(tmp_path, runs, lambda job: FAILED if job.kind == "fit" else "do")
    assert "its reference failed" in states[runs[0].name].reason


def test_a_directory_of_other_settings_is_refused(tmp_path):
    sweep(tmp_path, toy_runs(tmp_path, seeds=(0,)))
    other = toy_runs(tmp_path, seeds=(0,), settings={"batch_size": 8})
    with pytest.raises(UserError, match=r"'schedule.batch_size' 16, and the plan says 8"):
        write_record(tmp_path, other)


def test_an_interrupted_run_is_continued(tmp_path, monkeypatch):
    from nppac.training import loop
    from nppac.training.signals import Interrupted

    (run,) = toy_runs(tmp_path / "a", seeds=(0,))
    (whole,) = toy_runs(tmp_path / "b", seeds=(0,))
    epoch = loop.run_epoch

    def stop_at_second(problem, agent, schedule, seed, before):
        if before.progress.epoch == 1:
            raise Interrupted
        return epoch(problem, agent, schedule, seed, before)

    with monkeypatch.context() as patch:
        patch.setattr(loop, "run_epoch", stop_at_second)
        _, states = sweep(tmp_path / "a", [run], retries=0)
    assert states[run.name].steps == 20
    sweep(tmp_path / "a", [run])
    sweep(tmp_path / "b", [whole])
    what = events(tmp_path / "a", run.name)
    assert what == ["started", "stopped", "failed", "resumed", "finished"]
    assert_same_run(run.directory, whole.directory)


def test_ctrl_c_waits_for_runs_to_save_themselves_however_long_that_takes(tmp_path, monkeypatch):
    class Slow(InProcess):
        asked = 0

        def ended(self, seconds):
            if not self.asked:
                os.kill(os.getpid(), signal.SIGINT)
            time.sleep(0.2)  # many times longer than a stop is left unheard
            return super().ended(seconds)

        def stop(self):
            self.asked += 1

    monkeypatch.setattr(signals, "AGAIN_SECONDS", 0.01)
    engine = Slow(tmp_path, lambda job: STOPPED)
    driver = Driver(Copies(tmp_path), write_record(tmp_path, toy_runs(tmp_path)), 1)
    with pytest.raises(KeyboardInterrupt), stopping_at_once():
        driver.drive(engine, lambda active: None)
    assert (engine.asked, len(engine.done), engine.closed) == (1, 1, True)


def test_seeds_share_a_gp_whose_own_seed_is_given(tmp_path, demos):
    own = [record.fit for record in write_record(tmp_path, toy_runs(tmp_path, demos))]
    assert len(set(own)) == 2
    shared = toy_runs(tmp_path, demos, settings={"gp.seed": 1})
    assert len({record.fit for record in write_record(tmp_path, shared)}) == 1
