import json
import os
import shutil
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from nppac.agents.methods import METHODS
from nppac.cli import demos as demos_commands
from nppac.cli import training
from nppac.cli.main import COMMANDS, HELP, RAW, main
from nppac.cli.show import show, show_vector, text_of
from nppac.demos import load_demos
from nppac.errors import UserError
from nppac.references import UniformReference
from nppac.results import load_metrics
from toy_task import ACTION_DIM, FLAGS, TASK, assert_same_run, state_of, write_demos

TESTS = Path(__file__).parent


@pytest.fixture(scope="module")
def demos(tmp_path_factory):
    return str(write_demos(tmp_path_factory.mktemp("demos") / "demos.npz"))


@pytest.fixture(scope="module")
def finished(tmp_path_factory, demos):
    """A run that nobody disturbed, and everything that it printed."""
    directory = tmp_path_factory.mktemp("runs") / "finished"
    main(["train", *FLAGS, "--demos", demos, "--out", str(directory)])
    return directory


@pytest.fixture(autouse=True)
def elsewhere(tmp_path, monkeypatch):
    """Each test in a directory of its own, so that what is left behind can be seen."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("COLUMNS", raising=False)
    return tmp_path


@contextmanager
def run_caught_at(step, directory, demos, sign):
    """`nppac train` in a process of its own, waiting in training at `step` until `sign` is gone.

    Evaluations take fewer steps than that.
    """
    path = os.pathsep.join([str(TESTS), os.environ.get("PYTHONPATH", "")])
    code, flags = "from nppac.cli import main; main()", ["--demos", demos, "--out", str(directory)]
    process = subprocess.Popen(
        [sys.executable, "-c", code, "train", *FLAGS, *flags],
        env={**os.environ, "PYTHONPATH": path, "NPPAC_TOY_WAIT": f"{step}:{sign}"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        while not sign.exists():
            assert process.poll() is None, process.communicate()[1]
            time.sleep(0.02)
        yield process
    finally:
        process.kill()
        process.communicate()


def test_a_run_killed_without_warning_is_resumed_bit_for_bit(tmp_path, demos, finished):
    directory = tmp_path / "killed"
    with run_caught_at(70, directory, demos, tmp_path / "sign") as process:
        process.send_signal(signal.SIGKILL)
        assert process.wait() == -signal.SIGKILL
    assert state_of(directory)["progress/env_steps"] == 40
    assert load_metrics(directory / "metrics.csv")["env_steps"][-1] == 60  # to be done again
    main(["resume", str(directory)])
    assert_same_run(directory, finished)


def test_a_run_stopped_by_ctrl_c_says_how_to_go_on_and_does(tmp_path, demos, finished):
    directory, sign = tmp_path / "my run", tmp_path / "sign"
    with run_caught_at(50, directory, demos, sign) as process:
        process.send_signal(signal.SIGINT)
        heard = iter(process.stderr.readline, "")
        assert any("Finishing this epoch" in line for line in heard)
        sign.rmdir()
        out, err = process.communicate()
    assert process.returncode == 130
    assert out == ""
    assert err.endswith(f"Stopped. Continue with: nppac resume '{directory}'\n")
    assert "Traceback" not in err
    assert state_of(directory)["progress/env_steps"] == 60  # no multiple of the interval, 40
    assert load_metrics(directory / "metrics.csv")["env_steps"][-1] == 60
    main(["resume", str(directory)])
    assert_same_run(directory, finished)


def test_ctrl_c_before_anything_is_written_promises_nothing(tmp_path, monkeypatch, capsys):
    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(training, "start_run", interrupt)
    with pytest.raises(SystemExit) as exit:
        main(["train", "--out", str(tmp_path / "run")])
    assert exit.value.code == 130
    assert capsys.readouterr().err == "Stopped. Nothing was written yet.\n"


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


def test_a_finished_run_is_extended(tmp_path, finished, capsys):
    shutil.copytree(finished, tmp_path / "run")
    main(["resume", "run", "--steps", "120"])
    assert state_of(tmp_path / "run")["progress/env_steps"] == 120
    assert "120" in capsys.readouterr().out


def test_from_a_policy_to_demonstrations_to_a_policy(tmp_path, capsys):
    small = ["--policy-hidden", "8", "--critic-hidden", "8", "--batch-size", "16"]
    small += ["--epoch-steps", "100", "--eval-every", "100", "--checkpoint-every", "100"]
    small += ["--warmup-steps", "100", "--eval-episodes", "1", "--updates-per-step", "0.1"]
    hopper = ["--task", "Hopper-v5", *small]
    main(["train", *hopper, "--method", "sac", "--steps", "200", "--out", "expert"])
    main(["demos", "record", "--policy", "expert", "--out", "hops.npz", "--episodes", "2"])
    recorded = load_demos("hops.npz")
    assert (len(recorded), recorded.obs_dim, recorded.action_dim) == (2, 11, 3)
    assert recorded.metadata["env_id"] == "Hopper-v5"
    main(["demos", "inspect", "hops.npz", "--task", "Hopper-v5"])
    assert "nothing prevents training" in capsys.readouterr().out
    fit = ["--pretrain-epochs", "0", "--gp.kernel", "rbf", "--gp.max-steps", "3"]
    main(["train", *hopper, *fit, "--demos", "hops.npz", "--out", "run", "--steps", "200"])
    main(["evaluate", "run", "--episodes", "2", "--json", "result.json"])
    result = json.loads((tmp_path / "result.json").read_text())
    assert (result["task"], len(result["returns"])) == ("Hopper-v5", 2)
    assert "return_mean" in capsys.readouterr().out


def test_a_reference_is_fitted_evaluated_and_trained_against(tmp_path, demos, capsys):
    main(["fit", "--task", TASK, "--demos", demos, "--kernel", "rbf", "--max-steps", "5"])
    out, _ = capsys.readouterr()
    assert "Saved to reference.npz" in out
    assert "lengthscales" in out
    main(["evaluate", "reference.npz", "--task", TASK, "--episodes", "2"])
    main(["train", *FLAGS, "--demos", demos, "--reference", "reference.npz", "--out", "run"])
    assert (tmp_path / "run" / "reference.npz").exists()


def test_runs_are_compared_in_one_table_and_one_picture(tmp_path, finished, capsys):
    main(["compare", str(finished), str(finished)])
    out, _ = capsys.readouterr()
    assert "nppac" in out
    assert "…" not in out
    assert (tmp_path / "comparison.png").read_bytes().startswith(b"\x89PNG")


def test_only_successes_are_recorded_where_asked(finished, monkeypatch, capsys):
    def never(*_):
        return (lambda rows: np.ones((len(rows), ACTION_DIM))), TASK

    monkeypatch.setattr(demos_commands, "acting_policy", never)
    record = ["demos", "record", "--policy", str(finished), "--out", "d.npz", "--episodes", "1"]
    assert fails([*record, "--only-successes"], capsys).startswith("Only 0 of 20 episodes were")
    assert fails([*record, "--min-return", "1e9"], capsys).startswith("Only 0 of 20 episodes were")
    assert not Path("d.npz").exists()
    main(record)
    assert len(load_demos("d.npz")) == 1


def fails(args, capsys, code=1):
    """The one line that a mistake gives on standard error, without its `error: `."""
    capsys.readouterr()
    with pytest.raises(SystemExit) as exit:
        main(args)
    assert exit.value.code == code
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("error: ")
    assert err.count("\n") == 1
    return err.removeprefix("error: ").rstrip("\n")


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["trian"], "Unknown command 'trian'. Did you mean 'train'? Known: "),
        (["demos", "lst"], "Unknown command 'demos lst'. Did you mean 'demos list'?"),
        (["--verson"], "Unknown command '--verson'. Did you mean '--version'?"),
        (["train", "--task", "dor"], "Unknown task 'dor'. Did you mean 'door'?"),
        (["train", "--task", "Hoper-v5"], "Unknown task 'Hoper-v5'. Did you mean 'Hopper-v5'?"),
        (["fit", "--task", "dor"], "Unknown task 'dor'. Did you mean 'door'?"),
        (["train", "--method", "nppca"], "Unknown method 'nppca'. Did you mean 'nppac'?"),
        (["train", "--preset", "papper"], "Unknown preset 'papper'. Did you mean 'paper'?"),
        (["train", "--task", TASK, "--demos", "no.npz"], "No demonstrations 'no.npz'"),
        (["train", "--task", TASK], "The reference 'gp' needs demonstrations: give --demos"),
        (["train", "--task", TASK, "--steps", "7"], "'steps' is 7; it must be a positive multiple"),
        (["train", "--critics", "0"], "'critics' is 0; it must be positive."),
        (["train", "--temperature", "0"], "'temperature' is 0.0; it must be positive."),
        (["train", "--discount", "1.5"], "'discount' is 1.5; it must be within 0 and 1."),
        (["train", "--policy-hidden", "0"], "The width of a hidden layer must be at least 1."),
        (["train", "--seed", "-1"], "'seed' is -1; it must not be negative."),
        (["evaluate", "absent", "--seed", "-1"], "'seed' is -1; it must not be negative."),
        (["fit", "--task", TASK], f"There are no embedded demonstrations of '{TASK}'"),
        (["resume", "absent"], "There is no run directory absent."),
        (["resume", "."], ". is not the directory of a run: it has no config.json."),
        (["evaluate", "absent"], "There is no run directory or policy file absent."),
        (["evaluate", "."], ". is not the directory of a run: it has no config.json."),
        (["render", "absent"], "There is no run directory or policy file absent."),
        (["render", "absent", "--episodes", "0"], "'episodes' is 0; it must be at least 1."),
        (["demos", "record", "--policy", "absent", "--out", "d.npz"], "There is no run directory"),
        (["demos", "inspect", "absent.npz"], "No demonstrations 'absent.npz'"),
        (["demos", "convert", "absent.npz", "d.npz"], "No demonstrations 'absent.npz'"),
        (["compare", "absent"], "There is no run directory absent."),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_a_mistake_is_one_clear_line_and_leaves_nothing(tmp_path, capsys, args, message):
    assert fails(args, capsys).startswith(message)
    assert list(tmp_path.iterdir()) == []


def test_mistakes_with_what_exists(tmp_path, capsys, finished, demos):
    pendulum = str(
        write_demos(tmp_path / "p.npz", "Pendulum-v1", lambda rows: np.zeros((len(rows), 1)), 1)
    )
    UniformReference(1).save(tmp_path / "other.npz")
    before = sorted(path.name for path in tmp_path.iterdir())
    reference = str(finished / "reference.npz")
    for args, message in [
        (["train", *FLAGS, "--demos", pendulum], "have 1 entries where"),
        (["train", *FLAGS, "--demos", demos, "--reference", "other.npz"], "does not fit the task"),
        (["train", *FLAGS, "--demos", demos, "--out", "p.npz"], "p.npz is a file"),
        (["train", *FLAGS, "--demos", demos, "--out", str(finished)], "exists and is not empty"),
        (["evaluate", reference], "to act with a reference, give --task"),
        (["evaluate", "p.npz", "--task", TASK], "holds no policy"),
        (["evaluate", reference, "--task", "Pendulum-v1"], "does not fit the task Pendulum-v1"),
        (["evaluate", str(finished), "--task", "Pendulum-v1"], "does not fit the task"),
        (["evaluate", str(finished), "--task", "Hopper-v5"], "does not fit the task Hopper-v5"),
        (["evaluate", str(finished), "--episodes", "0"], "'episodes' is 0"),
        (["resume", str(finished), "--steps", "40"], "has done 100 steps already"),
        (["render", str(finished), "--out", "film.gif"], "give film.gif the suffix .mp4"),
        (["demos", "inspect", pendulum, "--task", TASK], "have 1 entries where"),
        (
            ["demos", "record", "--policy", str(finished), "--out", "d.npz", "--episodes", "0"],
            "'episodes' is 0",
        ),
        (["demos", "record", "--policy", reference, "--out", "d.npz"], "give --task"),
    ]:
        capsys.readouterr()
        with pytest.raises(SystemExit) as exit:
            main(args)
        assert exit.value.code == 1
        error = capsys.readouterr().err
        assert message in error
        assert error.splitlines()[-1].startswith("error: ")
        assert sorted(path.name for path in tmp_path.iterdir()) == before, args


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["train", "--lerning-rate", "1"], "--learning-rate"),
        (["train", "--steps", "abc"], "--steps"),
        (["train", "--gp.kernel", "rbff"], "'rbf'"),
        (["fit", "--kernle", "rbf"], "--kernel"),
        (["resume"], "RUN"),
        (["evaluate", "--episodes"], "--episodes"),
        (["tasks", "extra"], "extra"),
        (["demos", "convert", "a"], "FILE"),
    ],
)
def test_arguments_that_cannot_be_read_are_named(tmp_path, capsys, args, message):
    with pytest.raises(SystemExit) as exit:
        main(args)
    assert exit.value.code == 2
    assert message in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("command", [*RAW, *COMMANDS])
def test_the_help_of_every_command_teaches(capsys, command):
    with pytest.raises(SystemExit) as exit:
        main([*command.split(), "--help"])
    assert exit.value.code == 0
    out, _ = capsys.readouterr()
    assert f"usage: nppac {command}" in out
    assert len(HELP[command]) > 15
    explained = [line for line in out.splitlines() if "--" in line or "(required)" in line]
    assert explained


def test_the_help_shows_the_defaults_of_the_chosen_task(capsys):
    for task, temperature in (("door", "0.5"), ("walker2d", "0.2")):
        with pytest.raises(SystemExit):
            main(["train", "--task", task, "--preset", "paper", "--help"])
        out = " ".join(capsys.readouterr().out.replace("│", "").split())
        assert f"starting value where it is tuned. (default: {temperature})" in out


@pytest.mark.parametrize("args", [[], ["-h"], ["--help"], ["help"]])
def test_the_overview_lists_every_command(capsys, args):
    main(args)
    out, _ = capsys.readouterr()
    for command, text in HELP.items():
        assert f"nppac {command}" in out
        assert text in out


@pytest.mark.parametrize("args", [["demos"], ["demos", "--help"]])
def test_the_overview_of_a_group(capsys, args):
    main(args)
    out, _ = capsys.readouterr()
    assert "nppac demos record" in out
    assert "nppac train" not in out


def test_the_version(capsys):
    main(["--version"])
    assert capsys.readouterr().out.strip().count(".") == 2


def test_tables_in_a_pipe_are_not_cut(capsys, monkeypatch):
    main(["tasks"])
    out, _ = capsys.readouterr()
    assert "Open a latched door with a 24-joint hand (39 observations, 28 actions)." in out
    show("a title that is much longer than the little table below it", {"x": 1.0})
    assert capsys.readouterr().out.startswith("a title that is much longer than the little table")
    show("", {"path": "runs/[red]/" + "x" * 200, "unknown": None, "number": 1 / 3})
    out, _ = capsys.readouterr()
    assert "runs/[red]/" in out
    assert out.count("x") == 200
    assert "0.3333" in out
    assert "…" not in out


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (10_650.4, "10,650"),
        (-1234.5, "-1,234"),
        (999.96, "1000"),
        (1 / 3, "0.3333"),
        (1e-7, "1e-07"),
        (2e12, "2e+12"),
        (np.float64(2.5), "2.5"),
        (1000, "1000"),
        (None, "-"),
        ((-1.0, 0.5), "-1, 0.5"),
        ([], "none"),
        ("door", "door"),
    ],
)
def test_facts_are_written_as_people_write_them(value, text):
    assert text_of(value) == text


@pytest.mark.parametrize("width", [40, 80, 200])
def test_numbers_are_shown_in_full_however_narrow_the_screen(capsys, monkeypatch, width):
    monkeypatch.setenv("COLUMNS", str(width))
    values = [-1.234e-05 * (i + 1) for i in range(28)]
    show_vector("lengthscales", values)
    out, _ = capsys.readouterr()
    assert all(f"{value:.3g}" in out for value in values)
    assert max(map(len, out.splitlines())) <= width


def test_what_a_conversion_mended_is_said(tmp_path, capsys):
    write_demos(tmp_path / "wild.npz", act=lambda rows: 3 + np.zeros((len(rows), ACTION_DIM)))
    main(["demos", "convert", "wild.npz", "tame.npz"])
    assert "Clipped" in capsys.readouterr().out
    assert np.abs(load_demos("tame.npz").actions).max() == 1.0


def test_a_users_mistake_has_no_traceback_and_a_bug_has(monkeypatch, capsys):
    def mistake():
        raise UserError("The thing is wrong.")

    def bug():
        raise ValueError("a bug")

    monkeypatch.setitem(COMMANDS, "tasks", mistake)
    assert fails(["tasks"], capsys) == "The thing is wrong."
    monkeypatch.setitem(COMMANDS, "tasks", bug)
    with pytest.raises(ValueError, match="a bug"):
        main(["tasks"])


@pytest.mark.parametrize("words", [["tasks"], ["--version"]])
def test_a_reader_that_has_seen_enough_ends_no_command_with_a_traceback(words):
    reader, writer = os.pipe()
    os.close(reader)
    command = [sys.executable, "-c", f"from nppac.cli import main; main({words})"]
    done = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, text=True, timeout=120)
    os.close(writer)
    assert (done.returncode, done.stderr) == (1, "")


def test_demonstrations_are_relabelled_by_replay_and_by_the_rule(tmp_path, finished, capsys):
    main(["demos", "record", "--policy", str(finished), "--out", "d.npz", "--episodes", "3"])
    capsys.readouterr()
    main(["demos", "relabel", "d.npz", "new.npz", "--task", TASK])
    out = capsys.readouterr().out
    assert "0 sd" in out
    assert "3 episodes" in out
    old, new = load_demos("d.npz"), load_demos("new.npz")
    np.testing.assert_array_equal(new.stack("rewards"), old.stack("rewards"))
    assert new.metadata["provenance"]["rewards"]["by"] == "replay"
    assert (
        new.metadata["provenance"]["episode_seeds"] == old.metadata["provenance"]["episode_seeds"]
    )
    main(["demos", "relabel", "door", "open.npz", "--task", "door"])
    out = capsys.readouterr().out
    assert "25 episodes, 5000 steps, 25 with a success." in out
    assert set(load_demos("open.npz").stack("rewards").tolist()) == {0.0, 1.0}


def test_only_a_screen_of_relabelled_episodes_is_shown(demos, monkeypatch, capsys):
    monkeypatch.setattr(demos_commands, "SCREEN", 2)
    main(["demos", "convert", demos, "plain.npz"])
    with np.load("plain.npz") as archive:
        seeds = {"provenance": np.array(json.dumps({"episode_seeds": [0, 1, 2, 3]}))}
        np.savez("seeded.npz", **{**{k: archive[k] for k in archive.files}, **seeds})
    main(["demos", "relabel", "seeded.npz", "new.npz", "--task", TASK, "--by", "replay"])
    assert "... and 2 more." in capsys.readouterr().out


@pytest.mark.parametrize("columns", [None, "100", "80"])
def test_every_method_is_listed_within_a_hundred_columns(monkeypatch, capsys, columns):
    if columns is not None:
        monkeypatch.setenv("COLUMNS", columns)
    main(["methods"])
    out = capsys.readouterr().out
    assert max(map(len, out.splitlines())) == int(columns or 100)
    assert "…" not in out
    for name, method in METHODS.items():
        assert f"\n│{name}" in out
        assert method.reference in out
    assert ("states, actions, rewards" in out) == (columns != "80")
