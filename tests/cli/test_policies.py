import json
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest

from nppac.cli.main import main
from nppac.deploy.acting import task_from_file
from nppac.deploy.numpy_policy import NumpyPolicy
from nppac.utils.errors import UserError
from toy_task import ACTION_DIM, OBS_DIM, TASK

from .mistakes import fails

COMMANDS = {
    "evaluate": ["evaluate", "policy.npz", "--episodes", "1"],
    "render": ["render", "policy.npz"],
    "record": ["demos", "record", "--policy", "policy.npz", "--out", "d.npz", "--episodes", "1"],
}


def write_policy(task):
    """A policy of the toy task's shapes that says it is for `task`."""
    ends = np.zeros(OBS_DIM, np.float32), np.ones(OBS_DIM, np.float32)
    layer = np.zeros((OBS_DIM, ACTION_DIM), np.float32), np.zeros(ACTION_DIM, np.float32)
    NumpyPolicy(*ends, layer[:1], layer[1:], task).save("policy.npz")


@pytest.fixture
def evil(tmp_path, monkeypatch):
    """A module in the working directory that leaves a mark where it is imported."""
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    (tmp_path / "evil_module.py").write_text("open('imported', 'w').close()\nimport toy_task\n")
    yield "evil_module:nppac-toy/Reach-v0"
    sys.modules.pop("evil_module", None)


@pytest.mark.parametrize("command", COMMANDS)
def test_a_policys_file_does_not_decide_what_is_imported(command, evil, capsys):
    write_policy(evil)
    message = fails(COMMANDS[command], capsys)
    assert message.startswith("policy.npz names the task 'evil_module:nppac-toy/Reach-v0'")
    assert "the module 'evil_module' would be imported" in message
    assert message.endswith(f"--task {evil}.")
    assert not Path("imported").exists()
    assert "evil_module" not in sys.modules


def test_a_module_that_the_user_names_is_imported(evil, capsys):
    write_policy(evil)
    main([*COMMANDS["evaluate"], "--task", evil])
    assert "return_mean" in capsys.readouterr().out
    assert Path("imported").exists()


def test_only_tasks_of_modules_are_refused():
    path = Path("policy.npz")
    assert task_from_file(path, "door") == "door"
    assert task_from_file(path, "Hopper-v5") == "Hopper-v5"
    with pytest.raises(UserError, match=r"add --task TASK\.$") as caught:
        task_from_file(path, "a\n\x1b:b:" + "x" * 999)
    assert "\n" not in str(caught.value)


def test_an_evaluation_says_which_policy_acted(tmp_path, finished, capsys):
    main(["evaluate", str(finished), "--episodes", "1", "--json", "found.json"])
    assert f"{finished}, the newest policy, on {TASK}: 1 episodes" in told(capsys)
    assert json.loads(Path("found.json").read_text())["which"] == "the newest policy"
    main(["evaluate", str(finished / "reference.npz"), "--task", TASK, "--episodes", "1"])
    assert "reference.npz, the reference's mean, on" in told(capsys)


def told(capsys):
    """What was printed, in one line."""
    return " ".join(capsys.readouterr().out.split())


def test_runs_are_compared_in_one_table_and_one_picture(tmp_path, finished, capsys):
    main(["compare", str(finished), str(finished)])
    out, _ = capsys.readouterr()
    assert "nppac" in out
    assert "…" not in out
    assert (tmp_path / "comparison.png").read_bytes().startswith(b"\x89PNG")


def test_a_picture_of_where_runs_ended_replaces_the_curves(tmp_path, finished, capsys):
    main(["compare", str(finished), "--out", "curves.png"])
    main(["compare", str(finished), "--ends", "--out", "ends.png"])
    assert "Picture: ends.png" in capsys.readouterr().out
    curves, ends = ((tmp_path / f"{name}.png").read_bytes() for name in ("curves", "ends"))
    assert ends.startswith(b"\x89PNG")
    assert ends != curves


def test_a_comparison_counts_the_steps_to_a_threshold(finished, capsys):
    main(["compare", str(finished), "--threshold", "-1000"])
    out, _ = capsys.readouterr()
    assert "interquartile mean over seeds [95 % interval]" in out
    assert "steps to -1,000" in out


def test_a_comparison_writes_every_evaluation_as_a_table(finished, capsys):
    main(["compare", str(finished), "--markdown", "table.md"])
    assert "Table: table.md" in capsys.readouterr().out
    header, rule, *rows = Path("table.md").read_text().splitlines()
    assert header.startswith("| steps | ")
    assert set(rule) <= set("|- ")
    assert rows[0].startswith("| 0 | ")


def test_the_table_ends_with_what_a_run_judged_on_fresh_episodes(tmp_path, finished):
    judged = tmp_path / "judged"
    shutil.copytree(finished, judged)
    summary = json.loads((judged / "summary.json").read_text())
    summary["fresh"] = {"episodes": 100, "newest": {"success_any": [0.5, 0.4, 0.6]}}
    (judged / "summary.json").write_text(json.dumps(summary))
    config = json.loads((judged / "config.json").read_text())
    (judged / "config.json").write_text(json.dumps({**config, "seed": 7}))
    main(["compare", str(judged), "--markdown", "table.md"])
    header, *_, last = Path("table.md").read_text().splitlines()
    assert "seed 7" in header
    assert last == "| fresh episodes: newest policy | 50% (40% to 60%) | 50% |"
