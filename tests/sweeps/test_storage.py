import json

import pytest

from nppac.sweeps.drive import Driver
from nppac.sweeps.job import FINISHED, Job, do_job
from nppac.sweeps.layout import SweepLayout
from nppac.sweeps.record import write_record
from nppac.sweeps.status import read_status
from nppac.sweeps.storage import SMALL, copies_of
from nppac.sweeps.sweep import sweep_status
from nppac.utils.errors import UserError

from .toy_sweep import InProcess, toy_runs

pytest.importorskip("fsspec")


@pytest.fixture
def machine(tmp_path, monkeypatch):
    """Be one machine or another: each has a cache of its own, and all reach the same URL."""

    def be(name):
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / name))
        return copies_of(f"file://{tmp_path}/results")

    return be


def test_a_run_at_a_url_is_finished_by_another_machine(machine, tmp_path):
    driver = machine("driver")
    (run,) = toy_runs(driver.root, seeds=(0,))
    records = write_record(driver.root, [run])
    driver.push(SweepLayout(driver.root).plan)
    machine("first")
    assert do_job(driver.url, Job("run", run.name)) == FINISHED
    there = tmp_path / "results" / run.name
    summary = json.loads((there / "summary.json").read_text())
    assert summary["env_steps"] == 40
    assert (there / "checkpoint.npz").exists()
    assert not list(there.glob(".*"))
    (there / "summary.json").unlink()  # as if the first had been lost just before its end
    second = machine("second")
    assert do_job(driver.url, Job("run", run.name)) == FINISHED
    assert json.loads((there / "summary.json").read_text())["eval_return"] == summary["eval_return"]
    assert read_status(second.root, records, ())[0].state == "finished"
    machine("reader")
    assert sweep_status(driver.url)[0].state == "finished"


def test_a_driver_sees_what_another_machine_has_finished(machine, tmp_path):
    driver = machine("driver")
    (run,) = toy_runs(driver.root, seeds=(0,))
    records = write_record(driver.root, [run])
    driver.push(SweepLayout(driver.root).plan)
    machine("worker")
    engine = InProcess(driver.url)
    Driver(driver, records, 0).drive(engine, lambda active: None)
    assert engine.done == [Job("run", run.name)]
    assert read_status(driver.root, records, ())[0].state == "finished"
    assert {path.name for path in run.directory.iterdir()} == set(SMALL)  # a report needs no more


def test_a_url_that_nothing_knows():
    with pytest.raises(UserError, match="Cannot use nonsense://"):
        copies_of("nonsense://bucket").pull_plan()
    with pytest.raises(UserError, match="the memory of one process"):
        copies_of("memory://sweep")
