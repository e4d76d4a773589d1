import json
import shutil
from dataclasses import replace

import numpy as np
import pytest

from nppac.references import NetworkConfig
from nppac.training import problem
from nppac.training.config import read_config
from nppac.training.restore import load_run_policy
from nppac.training.runs import resume_run, start_run
from nppac.utils.errors import UserError
from nppac.utils.files import TEMPORARY
from nppac.utils.imports import FailedEnvironment
from nppac.utils.locks import directory_lock
from toy_task import (
    SCHEDULE,
    Reach,
    assert_same_run,
    make_config,
    state_of,
)


def test_resuming_a_finished_run_changes_nothing(tmp_path, finished):
    directory = tmp_path / "copy"
    shutil.copytree(finished, directory)
    summary = resume_run(directory)
    assert summary == json.loads((finished / "summary.json").read_text())
    assert_same_run(directory, finished)


NETWORK = NetworkConfig(hidden=(8,), max_epochs=2, entropy_bonus="tuned")


@pytest.mark.parametrize("reference", ["network", "mixed:gp+dropout", "constant"])
def test_a_run_against_any_reference_is_resumed(tmp_path, demos, reference, capsys):
    config = make_config(reference=reference, demos=demos, network=NETWORK)
    start_run(config, tmp_path / "run")
    assert read_config(tmp_path / "run").network == NETWORK
    capsys.readouterr()
    resume_run(tmp_path / "run", steps=120)
    assert "Imported" not in capsys.readouterr().err


def test_a_run_cut_after_its_configuration_starts_over(tmp_path, finished):
    for kept in (["config.json"], ["config.json", "reference.npz"]):
        directory = tmp_path / f"with-{len(kept)}"
        directory.mkdir()
        for name in kept:
            shutil.copy(finished / name, directory)
        resume_run(directory)
        assert_same_run(directory, finished)
        assert (directory / "reference.npz").read_bytes() == (
            finished / "reference.npz"
        ).read_bytes()


def test_a_resumed_run_asks_the_reference_that_it_began_with(tmp_path, finished, monkeypatch):
    shutil.copytree(finished, tmp_path / "run")
    monkeypatch.setattr(problem, "fitted_reference", lambda *_, **__: pytest.fail("fitted again"))
    resume_run(tmp_path / "run", steps=120)
    assert state_of(tmp_path / "run")["progress/env_steps"] == 120


def test_what_killed_writers_left_is_removed(tmp_path, finished):
    shutil.copytree(finished, tmp_path / "run")
    leftover = tmp_path / "run" / f".checkpoint.npz.abc{TEMPORARY}"
    leftover.write_bytes(b"half")
    resume_run(tmp_path / "run")
    assert not leftover.exists()


def test_an_extended_run_says_so_in_its_record(tmp_path):
    config = make_config(schedule=replace(SCHEDULE, steps=60))
    start_run(config, tmp_path / "run")
    before = json.loads((tmp_path / "run" / "config.json").read_text())
    summary = resume_run(tmp_path / "run", steps=100)
    assert summary["env_steps"] == 100
    after = json.loads((tmp_path / "run" / "config.json").read_text())
    assert after["schedule"]["steps"] == 100
    assert after["provenance"] == before["provenance"]
    start_run(make_config(), tmp_path / "whole")
    ours, theirs = state_of(tmp_path / "run"), state_of(tmp_path / "whole")
    for name, array in ours.items():
        np.testing.assert_array_equal(array, theirs[name], err_msg=name)


@pytest.mark.parametrize(
    ("steps", "message"), [(60, "has done 100 steps already"), (110, "multiple of the epoch")]
)
def test_a_run_cannot_end_before_where_it_is_nor_within_an_epoch(
    tmp_path, finished, steps, message
):
    directory = tmp_path / "copy"
    shutil.copytree(finished, directory)
    with pytest.raises(UserError, match=message):
        resume_run(directory, steps)
    assert read_config(directory).schedule.steps == 100


def test_demonstrations_are_found_from_another_directory(tmp_path, monkeypatch, demos):
    here, there = tmp_path / "here", tmp_path / "there"
    here.mkdir()
    there.mkdir()
    shutil.copy(demos, here / "demos.npz")
    monkeypatch.chdir(here)
    start_run(make_config(demos="demos.npz", schedule=replace(SCHEDULE, steps=60)), "run")
    monkeypatch.chdir(there)
    assert resume_run(here / "run", steps=100)["env_steps"] == 100


def test_a_run_that_another_process_trains_is_not_resumed(tmp_path, finished):
    shutil.copytree(finished, tmp_path / "run")
    with (
        directory_lock(tmp_path / "run"),
        pytest.raises(UserError, match="Another process is at work"),
    ):
        resume_run(tmp_path / "run", steps=120)
    assert read_config(tmp_path / "run").schedule.steps == 100


def test_a_damaged_checkpoint_gives_way_to_the_one_before(tmp_path, finished, capsys):
    shutil.copytree(finished, tmp_path / "run")
    path = tmp_path / "run" / "checkpoint.npz"
    path.write_bytes(path.read_bytes()[:1000])
    load_run_policy(tmp_path / "run")
    resume_run(tmp_path / "run")
    assert capsys.readouterr().err.count("checkpoint.previous.npz, is used instead") == 2
    assert_same_run(tmp_path / "run", finished)


def test_checkpoints_that_are_all_damaged_are_named(tmp_path, finished):
    shutil.copytree(finished, tmp_path / "run")
    for name in ("checkpoint.npz", "checkpoint.previous.npz"):
        path = tmp_path / "run" / name
        path.write_bytes(path.read_bytes()[:1000])
    with pytest.raises(UserError, match=r"checkpoint\.npz"):
        resume_run(tmp_path / "run")


def test_a_run_without_its_checkpoint_keeps_its_history(tmp_path, finished):
    shutil.copytree(finished, tmp_path / "run")
    for name in ("checkpoint.npz", "checkpoint.previous.npz"):
        (tmp_path / "run" / name).unlink()
    with pytest.raises(UserError, match=r"metrics up to step 100 but no checkpoint.*Restore"):
        resume_run(tmp_path / "run")
    assert (tmp_path / "run" / "metrics.csv").read_bytes() == (
        finished / "metrics.csv"
    ).read_bytes()


@pytest.mark.parametrize("error", [SystemExit(0), ValueError("boom")])
def test_an_environment_that_fails_leaves_the_run_to_be_resumed(
    tmp_path, monkeypatch, gp_config, finished, error
):
    inner, steps = Reach.step, 0

    def step(env, action):
        nonlocal steps
        steps += 1
        if steps == 100:
            raise error
        return inner(env, action)

    with monkeypatch.context() as patch:
        patch.setattr(Reach, "step", step)
        with pytest.raises(FailedEnvironment) as caught:
            start_run(gp_config, tmp_path / "my run")
    *_, shown, remedy = str(caught.value).splitlines()
    assert shown.startswith("The environment failed at step")
    assert remedy == f"Mend it, then continue with: nppac resume '{tmp_path / 'my run'}'"
    assert "raise error" in str(caught.value)
    resume_run(tmp_path / "my run")
    assert_same_run(tmp_path / "my run", finished)
