import shutil
from pathlib import Path

import pytest

from anchored_run import write_anchored_run
from nppac import load_policy
from nppac.cli import main
from nppac.cli.distill import MEASURES
from nppac.demos import load_demos
from toy_task import ACTION_DIM, TASK

QUICK = ["--hidden", "8", "--epochs", "2", "--episodes", "2", "--rounds", "1"]


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return write_anchored_run(tmp_path_factory.mktemp("runs") / "my-run")


def test_a_policy_is_distilled_compared_and_used_without_its_run(run, capsys):
    shutil.copytree(run, "run")
    main(["distill", "run", *QUICK, "--eval-episodes", "3"])
    out, err = capsys.readouterr()
    assert "Policy: run/policy.npz" in out
    assert all(word in out for word in (*MEASURES.values(), "teacher", "student", "difference"))
    assert "\x1b" not in out + err
    shutil.move("run/policy.npz", "alone.npz")
    shutil.rmtree("run")
    about = load_policy("alone.npz").record
    assert (about["run"], about["method"]) == ("run", "nppac-anchored")
    assert {"command", "commit"} <= about["provenance"].keys()
    assert [done["driver"] for done in about["rounds"]] == ["teacher", "student"]
    main(["evaluate", "alone.npz", "--episodes", "3", "--task", TASK])
    judged = about["evaluation"]["student"]["return_mean"]
    assert f"{judged:.4g}" in capsys.readouterr().out
    record = ["demos", "record", "--policy", "alone.npz", "--task", TASK]
    main([*record, "--out", "d.npz", "--episodes", "1"])
    assert load_demos("d.npz").action_dim == ACTION_DIM


def test_without_an_evaluation_the_policy_is_only_written(run, capsys):
    main(["distill", str(run), *QUICK, "--rounds", "0", "--eval-episodes", "0", "--out", "p.npz"])
    assert "difference" not in capsys.readouterr().out
    policy = load_policy("p.npz")
    assert policy.task == TASK
    assert "evaluation" not in policy.record
    for args in (["evaluate", "p.npz", "--task", "Pendulum-v1"], ["train", "--reference", "p.npz"]):
        with pytest.raises(SystemExit):
            main(args)
    err = capsys.readouterr().err
    assert "p.npz does not fit the task Pendulum-v1" in err
    assert "Unknown kind of reference 'policy'" in err


def test_mistakes_are_one_line_and_leave_nothing(run, tmp_path, capsys):
    bare = tmp_path / "bare"
    bare.mkdir()
    shutil.copy(run / "config.json", bare)
    for args, message in [
        (["bar"], "There is no run directory bar. Did you mean 'bare'?"),
        (["."], ". is not the directory of a run: it has no config.json."),
        (["bare"], "bare has no checkpoint yet. Let `nppac resume bare` run for a while."),
        (["bare/config.json"], "bare/config.json is a file; give the directory of a run"),
        ([str(run), "--out", "bare"], "bare is a directory; give the name of a file."),
        ([str(run), "--episodes", "1"], "'episodes' is 1; it must be at least 2"),
        ([str(run), "--eval-episodes", "-1"], "'eval_episodes' is -1; it must be 0 or more."),
    ]:
        with pytest.raises(SystemExit) as exit:
            main(["distill", *args])
        assert exit.value.code == 1
        out, err = capsys.readouterr()
        assert out == ""
        assert err.startswith(f"error: {message}")
        assert err.count("\n") == 1
    assert [path.name for path in Path().iterdir()] == ["bare"]
    assert not (run / "policy.npz").exists()
