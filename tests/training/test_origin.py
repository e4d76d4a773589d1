import json
import shutil
from dataclasses import replace

import numpy as np
import pytest

from nppac.demos import load_demos, save_demos
from nppac.training.origin import demos_fingerprint
from nppac.training.runs import resume_run, start_run
from nppac.utils.errors import UserError
from toy_task import SCHEDULE, make_config, write_demos


@pytest.fixture
def begun(tmp_path):
    write_demos(tmp_path / "demos.npz")
    schedule = replace(SCHEDULE, steps=40)
    start_run(make_config(demos=str(tmp_path / "demos.npz"), schedule=schedule), tmp_path / "run")
    return tmp_path / "run"


def changed_by(path, **changes):
    demos = load_demos(str(path))
    first = replace(demos.episodes[0], **changes)
    save_demos(path, replace(demos, episodes=(first, *demos.episodes[1:])))


def test_demonstrations_that_changed_are_refused(tmp_path, begun):
    demos = tmp_path / "demos.npz"
    actions = load_demos(str(demos)).episodes[0].actions.copy()
    actions[0, 0] = np.nextafter(actions[0, 0], np.float32(0))
    changed_by(demos, actions=actions)
    before = {path.name: path.read_bytes() for path in begun.iterdir()}
    with pytest.raises(UserError, match=r"demos\.npz are not those that .*run began with"):
        resume_run(begun)
    assert {path.name: path.read_bytes() for path in begun.iterdir()} == before


def test_demonstrations_in_another_file_are_the_same(tmp_path, begun):
    save_demos(tmp_path / "demos.npz", load_demos(str(tmp_path / "demos.npz")))
    assert resume_run(begun)["env_steps"] == 40


def test_everything_that_is_read_counts(tmp_path):
    demos = load_demos(str(write_demos(tmp_path / "demos.npz")))
    known, first = demos_fingerprint(demos), demos.episodes[0]
    for changes in (
        {"observations": first.observations + 1},
        {"actions": first.actions / 2},
        {"rewards": first.rewards + 1},
        {"rewards": None},
        {"successes": None},
        {"terminated": not first.terminated},
    ):
        other = replace(demos, episodes=(replace(first, **changes), *demos.episodes[1:]))
        assert demos_fingerprint(other) != known
    assert demos_fingerprint(replace(demos, metadata={})) == known
    assert demos_fingerprint(replace(demos, episodes=demos.episodes[1:])) != known


def test_a_run_of_before_is_resumed_without_a_fingerprint(begun):
    path = begun / "config.json"
    config = json.loads(path.read_text())
    for name in ("demos_sha256", "directory"):
        del config["provenance"][name]
    path.write_text(json.dumps(config))
    assert resume_run(begun)["env_steps"] == 40


def test_a_run_that_was_moved_says_so(tmp_path, begun, capsys):
    resume_run(begun)
    assert "was made in" not in capsys.readouterr().err
    shutil.move(begun, tmp_path / "elsewhere")
    resume_run(tmp_path / "elsewhere")
    told = f"This run was made in {begun} and is now in {tmp_path / 'elsewhere'}."
    assert capsys.readouterr().err.count(told) == 1


def test_another_number_of_threads_is_told(begun, capsys, monkeypatch):
    stored = json.loads((begun / "config.json").read_text())["provenance"]["threads"]
    resume_run(begun)
    assert "threads" not in capsys.readouterr().err
    monkeypatch.setattr("nppac.training.origin.thread_count", lambda: stored + 1)
    resume_run(begun)
    told = f"This run began with {stored} threads and goes on with {stored + 1}"
    assert capsys.readouterr().err.count(told) == 1
