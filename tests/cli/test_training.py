import json
import os
import shutil
import signal
import subprocess
import sys
import time
from contextlib import contextmanager

import pytest

from forked import Launcher
from nppac.cli import training
from nppac.cli.main import main
from nppac.evaluation.metrics import load_metrics
from toy_task import FLAGS, assert_same_run, state_of


@pytest.fixture(scope="module")
def launcher():
    launcher = Launcher()
    yield launcher
    launcher.close()


@contextmanager
def run_caught_at(step, directory, demos, launcher):
    """`nppac train` in a process of its own, waiting in training at `step` until a sign is gone.

    Evaluations take fewer steps than that. The process's id, and the sign.
    """
    folder = directory.parent
    sign, flags = folder / "sign", ["--demos", demos, "--out", str(directory)]
    environment = {**os.environ, "NPPAC_TOY_WAIT": f"{step}:{sign}"}
    process = launcher.start(["train", *FLAGS, *flags], environment, folder)
    try:
        wait_for(sign.exists, folder)
        yield process, sign
    finally:
        launcher.stop()


def wait_for(condition, folder):
    until = time.monotonic() + 600
    while not condition():
        assert time.monotonic() < until, (folder / "err").read_text()
        time.sleep(0.02)


def test_a_run_killed_without_warning_is_resumed_bit_for_bit(tmp_path, demos, finished, launcher):
    directory = tmp_path / "killed"
    with run_caught_at(70, directory, demos, launcher) as (process, _):
        os.kill(process, signal.SIGKILL)
        assert launcher.wait() == -signal.SIGKILL
    assert state_of(directory)["progress/env_steps"] == 40
    assert load_metrics(directory / "metrics.csv")["env_steps"][-1] == 60  # to be done again
    main(["resume", str(directory)])
    assert_same_run(directory, finished)


@pytest.mark.parametrize(("signum", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_run_that_is_stopped_says_how_to_go_on_and_does(
    tmp_path, demos, finished, launcher, signum, code
):
    directory = tmp_path / "my run"
    with run_caught_at(50, directory, demos, launcher) as (process, sign):
        os.kill(process, signum)
        wait_for(lambda: "Finishing this epoch" in (tmp_path / "err").read_text(), tmp_path)
        sign.rmdir()
        assert launcher.wait() == code
    out, err = ((tmp_path / name).read_text() for name in ("out", "err"))
    assert out == ""
    assert err.endswith(f"Stopped. Continue with: nppac resume '{directory}'\n")
    assert "Traceback" not in err
    assert state_of(directory)["progress/env_steps"] == 60  # no multiple of the interval, 40
    assert load_metrics(directory / "metrics.csv")["env_steps"][-1] == 60
    main(["resume", str(directory)])
    assert_same_run(directory, finished)


def test_ctrl_c_before_anything_is_written_promises_nothing(tmp_path, monkeypatch, capsys):
    def interrupt(**_):
        raise KeyboardInterrupt

    monkeypatch.setattr(training, "train", interrupt)
    with pytest.raises(SystemExit) as exit:
        main(["train", "--out", str(tmp_path / "run")])
    assert exit.value.code == 130
    assert capsys.readouterr().err == "Stopped. Nothing was written yet.\n"


def test_ctrl_c_while_everything_is_imported_is_one_line():
    """The import of what a command needs is where a user's first Ctrl-C most likely falls."""
    code = """
import sys
class Impatient:
    def find_spec(self, name, path=None, target=None):
        if name == "nppac.cli.commands":
            raise KeyboardInterrupt
sys.meta_path.insert(0, Impatient())
from nppac.cli import main
main(["tasks"])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "Stopped.\n")


def test_a_run_ends_with_its_summary_and_picture(tmp_path, demos, capsys):
    main(["train", *FLAGS, "--demos", demos, "--seed", "4"])
    directory = tmp_path / "runs" / "toy_task-nppac-toy-Reach-v0-nppac-seed4"
    assert (directory / "curve.png").read_bytes().startswith(b"\x89PNG")
    out, err = capsys.readouterr()
    assert "eval_return last" in out
    assert f"Run: {directory.relative_to(tmp_path)}" in out
    assert "\x1b" not in out + err
    assert "…" not in out
    assert json.loads((directory / "config.json").read_text())["seed"] == 4


def test_a_run_has_a_report_of_its_own_which_a_resumed_run_writes_anew(tmp_path, finished, capsys):
    assert "1 run of 1 task" in (finished / "report.html").read_text()
    shutil.copytree(finished, tmp_path / "run")
    (tmp_path / "run" / "report.html").unlink()
    main(["resume", "run"])
    assert "Report: run/report.html" in capsys.readouterr().out
    assert "1 run of 1 task" in (tmp_path / "run" / "report.html").read_text()


def test_a_report_that_cannot_be_written_is_told_and_no_failure(finished, capsys, monkeypatch):
    def broken(directories, path):
        raise ZeroDivisionError("a bug")

    monkeypatch.setattr(training, "write_report", broken)
    assert training.own_report(finished) is None
    assert capsys.readouterr().err == "The run has no report: a bug\n"


def test_a_finished_run_is_extended(tmp_path, finished, capsys):
    shutil.copytree(finished, tmp_path / "run")
    main(["resume", "run", "--steps", "120"])
    assert state_of(tmp_path / "run")["progress/env_steps"] == 120
    assert "120" in capsys.readouterr().out


def test_the_help_shows_the_defaults_of_the_chosen_task(capsys):
    for task, temperature in (("door", "0.5"), ("walker2d", "0.2")):
        with pytest.raises(SystemExit):
            main(["train", "--task", task, "--preset", "paper", "--help-all"])
        out = " ".join(capsys.readouterr().out.replace("│", "").split())
        assert f"the initial value if it is tuned. (default: {temperature})" in out


@pytest.mark.parametrize(("preset", "method"), [("default", "nppac-anchored"), ("paper", "nppac")])
def test_the_preset_decides_the_method_unless_it_is_given(preset, method, capsys):
    with pytest.raises(SystemExit):
        main(["train", "--preset", preset, "--help"])
    assert f"(default: {method})" in " ".join(capsys.readouterr().out.replace("│", "").split())
