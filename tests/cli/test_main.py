import os
import subprocess
import sys

import numpy as np
import pytest

from nppac.cli import main
from nppac.cli.commands import COMMANDS
from nppac.references import UniformReference
from nppac.utils.errors import UserError
from toy_task import FLAGS, TASK, write_demos

from .mistakes import fails


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
        (["train", "--num-qs", "0"], "'num_qs' is 0; it must be at least 1."),
        (["train", "--temperature", "0"], "'temperature' is 0.0; it must be greater than 0"),
        (["train", "--discount", "1.5"], "'discount' is 1.5; it must be at most 1"),
        (["train", "--policy-hidden", "0"], "'policy_hidden.0' is 0; it must be at least 1."),
        (["train", "--seed", "-1"], "'seed' is -1; it must be at least 0"),
        (["evaluate", "absent", "--seed", "-1"], "'seed' is -1; it must be at least 0"),
        (["fit", "--seed", "-1"], "'seed' is -1; it must be at least 0"),
        (["train", "--method", "bear", "--gp.seed", "-1"], "'seed' is -1; it must be at least 0"),
        (
            ["train", "--method", "dapg", "--epoch-steps", "10000"],
            "The method 'dapg' learns from the newest epoch alone, but its replay holds 40000 steps"
            ": add --replay-capacity 10000.",
        ),
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
        (["compare"], "No run to compare: name the directories of some"),
        (["compare", "absent"], "There is no run directory absent."),
        (["fit", "--threads", "0"], "--threads is '0'; it must be a whole number, at least 1."),
        (["--threads=two", "tasks"], "--threads is 'two'; it must be a whole number"),
        (["tasks", "--threads"], "--threads is ''; it must be a whole number"),
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
        (["train", *FLAGS, "--demos", pendulum], "was recorded in Pendulum-v1, but the task"),
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
        (["demos", "inspect", pendulum, "--task", TASK], "was recorded in Pendulum-v1, but"),
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
    "args",
    [
        "train --task Pendulum-v1 --reference uniform --out file/run",
        "fit --task halfcheetah --out file/reference.npz",
        "doctor --task door --out file/diagnosis",
        "evaluate absent --json file/result.json",
        "render absent --out file/video.mp4",
        "distill absent --out file/policy.npz",
        "demos convert absent.npz file/demos.npz",
        "demos record --policy absent --out file/demos.npz",
        "demos relabel absent.npz file/demos.npz --task door",
        "reproduce prop1 --out file/figure",
    ],
)
def test_where_nothing_can_be_written_nothing_is_computed(tmp_path, monkeypatch, capsys, args):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").touch()
    said = fails(args.split(), capsys)
    assert said.startswith("Cannot use the directory file")
    assert said.endswith(": Not a directory.")


def test_a_directory_is_no_file_to_write_to(tmp_path, capsys):
    said = fails(["fit", "--task", "door", "--out", str(tmp_path)], capsys)
    assert said == f"{tmp_path} is a directory; give the name of a file."


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


@pytest.mark.parametrize("words", [["--threads", "1", "tasks"], ["tasks", "--threads=1"]])
def test_threads_are_bounded_while_a_command_runs(monkeypatch, words):
    seen = []
    monkeypatch.delenv("NPPAC_THREADS", raising=False)
    monkeypatch.setitem(COMMANDS, "tasks", lambda: seen.append(os.environ["NPROC"]))
    main(words)
    assert seen == ["1"]
    assert "NPPAC_THREADS" not in os.environ


PROBE = """
import os
import sys
import jax.numpy as jnp
import numpy as np
from threadpoolctl import threadpool_info

def policy(obs):
    jnp.dot(jnp.ones((300, 300)), jnp.ones((300, 300))).block_until_ready()
    names = [open(f"/proc/self/task/{task}/comm").read() for task in os.listdir("/proc/self/task")]
    blas = [pool["num_threads"] for pool in threadpool_info()]
    print("THREADS", sum("Eigen" in name for name in names), max(blas))
    print("DRAWS", "matplotlib" in sys.modules)
    return np.zeros((len(obs), 2)), np.ones((len(obs), 2))
"""


@pytest.fixture(scope="module")
def probed(tmp_path_factory, demos):
    """What a policy sees of the process that asks it."""
    folder = tmp_path_factory.mktemp("probe")
    (folder / "probe.py").write_text(PROBE)
    path = os.pathsep.join([str(folder), *sys.path])
    words = ["fit", "--task", TASK, "--demos", demos, "--reference", "probe:policy"]
    return subprocess.run(
        [sys.executable, "-m", "nppac", *words, "--threads", "1"],
        env={**os.environ, "PYTHONPATH": path},
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=300,
    )


def test_a_process_of_its_own_starts_no_more_threads_than_asked(probed):
    assert "THREADS 1 1" in probed.stdout, probed.stderr


def test_matplotlib_which_takes_long_to_import_is_left_to_those_who_draw(probed):
    assert "DRAWS False" in probed.stdout, probed.stderr
