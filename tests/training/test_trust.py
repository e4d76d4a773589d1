"""A run's directory from elsewhere imports nothing."""

import json
import shutil
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from nppac.cli import main
from nppac.deploy.run_result import load_run
from nppac.sweeps.plan_file import read_plan_file
from nppac.training.restore import load_run_policy, load_trained_run
from nppac.training.runs import resume_run, start_run
from nppac.utils.errors import UserError
from toy_task import SCHEDULE, make_config

SHORT = replace(SCHEDULE, steps=60, checkpoint_every=20)
"""As long as the replay has room: longer runs have one of the same size."""
MODULE = """
from pathlib import Path

import numpy as np

Path(__file__).with_suffix(".ran").touch()

import toy_task

def policy(obs):
    return np.zeros((len(obs), 2)), np.ones((len(obs), 2))
"""


@pytest.fixture
def module(tmp_path, monkeypatch):
    """A module that leaves a trace where it was imported."""
    (tmp_path / "side_effect.py").write_text(MODULE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    yield tmp_path
    sys.modules.pop("side_effect", None)


@pytest.fixture(scope="module")
def made_run(tmp_path_factory):
    """A run whose task and reference are of such a module."""
    folder = tmp_path_factory.mktemp("made")
    (folder / "side_effect.py").write_text(MODULE)
    task = "side_effect:nppac-toy/Reach-v0"
    config = make_config(task=task, reference="side_effect:policy", schedule=SHORT)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setattr(sys, "dont_write_bytecode", True)
        start_run(config, folder / "run")
    assert was_imported(folder)
    forget(folder)
    return folder / "run"


@pytest.fixture
def own_run(made_run, module):
    """A copy of that run next to the module, which has not been imported since."""
    shutil.copytree(made_run, module / "run")
    return module / "run"


def forget(module):
    sys.modules.pop("side_effect", None)
    (module / "side_effect.ran").unlink(missing_ok=True)


def was_imported(module):
    return "side_effect" in sys.modules or (module / "side_effect.ran").exists()


def from_elsewhere(directory, **changes):
    """The same run as another user would have made it."""
    path = directory / "config.json"
    config = json.loads(path.read_text())
    config["provenance"]["made_here"] = "0" * 64
    path.write_text(json.dumps({**config, **changes}))


USES = {
    "resume": lambda run: resume_run(run, 80),
    "load_trained_run": load_trained_run,
    "load_run_policy": load_run_policy,
    "nppac resume": lambda run: main(["resume", str(run)]),
    "nppac evaluate": lambda run: main(["evaluate", str(run), "--episodes", "1"]),
    "nppac render": lambda run: main(["render", str(run)]),
    "nppac distill": lambda run: main(["distill", str(run)]),
    "nppac demos record": lambda run: main(
        ["demos", "record", "--policy", str(run), "--out", "d.npz"]
    ),
}


@pytest.mark.parametrize("use", USES)
def test_nothing_is_imported_from_elsewhere(module, own_run, use, capsys):
    from_elsewhere(own_run)
    before = {path.name: path.read_bytes() for path in own_run.iterdir()}
    with pytest.raises((UserError, SystemExit)) as caught:
        USES[use](own_run)
    told = capsys.readouterr().err + str(caught.value)
    assert "the task 'side_effect:nppac-toy/Reach-v0'" in told
    assert "the reference 'side_effect:policy'" in told
    assert "--trust" in told
    assert not was_imported(module)
    assert {path.name: path.read_bytes() for path in own_run.iterdir()} == before


@pytest.mark.parametrize(
    "changes",
    [
        {"task": "side_effect:Pendulum-v1", "reference": "uniform"},
        {"task": "Pendulum-v1", "reference": "side_effect:policy"},
        {"task": "Pendulum-v1", "reference": "uniform", "method": "side_effect:Agent"},
        {"task": "mixed:side_effect:Pendulum-v1", "reference": "uniform"},
        {"provenance": None},
        {"provenance": {}},
        {"provenance": {"made_here": 3}},
    ],
)
def test_each_setting_that_names_code_needs_trust(module, own_run, changes):
    from_elsewhere(own_run, **changes)
    with pytest.raises(UserError, match=r"names code.*side_effect.*--trust"):
        resume_run(own_run)
    assert not was_imported(module)


def test_a_mark_for_other_code_is_worthless(module, own_run):
    path = own_run / "config.json"
    config = json.loads(path.read_text())
    path.write_text(json.dumps({**config, "reference": "pickle:loads"}))
    with pytest.raises(UserError, match="pickle:loads"):
        resume_run(own_run)


def test_a_run_that_was_made_here_goes_on(module, own_run):
    assert resume_run(own_run, 80)["env_steps"] == 80
    assert was_imported(module)


def test_who_trusts_a_run_may_use_it(module, own_run, capsys):
    from_elsewhere(own_run)
    main(["evaluate", str(own_run), "--episodes", "1", "--trust"])
    assert was_imported(module)
    main(["resume", str(own_run), "--steps", "80", "--trust"])
    load_trained_run(own_run, trust=True)


def test_a_run_that_names_no_code_needs_no_trust(tmp_path):
    config = make_config(task="Pendulum-v1", schedule=SHORT)
    start_run(config, tmp_path / "run")
    assert (
        "made_here" not in json.loads((tmp_path / "run" / "config.json").read_text())["provenance"]
    )
    shutil.move(tmp_path / "run", tmp_path / "moved")
    assert resume_run(tmp_path / "moved")["env_steps"] == 60


def test_without_a_home_it_is_said_that_trust_will_be_needed(module, monkeypatch, capsys):
    monkeypatch.delenv("XDG_STATE_HOME")
    monkeypatch.delenv("HOME")
    start_run(make_config(schedule=SHORT), module / "run")
    assert "HOME is not set: to resume or use this run, add --trust" in capsys.readouterr().err
    with pytest.raises(UserError, match="--trust"):
        resume_run(module / "run")
    assert resume_run(module / "run", trust=True)["env_steps"] == 60


@pytest.mark.parametrize("command", ["compare", "report"])
def test_what_only_reads_records_imports_no_method(module, own_run, command):
    from_elsewhere(own_run, method="side_effect:Agent")
    main([command, str(own_run), "--out", f"out.{'png' if command == 'compare' else 'html'}"])
    assert not was_imported(module)


def test_a_run_is_loaded_only_if_its_code_is_trusted(module, own_run):
    from_elsewhere(own_run, method="side_effect:Agent")
    with pytest.raises(UserError, match="--trust"):
        load_run(own_run)
    assert not was_imported(module)


@pytest.mark.parametrize("command", ["compare", "report"])
def test_the_texts_of_a_record_are_shown_and_not_obeyed(own_run, command, capsys):
    """No command to the terminal, no markup of tables or pages, no formula in a picture."""
    path = own_run / "config.json"
    stored = json.loads(path.read_text())
    hostile = "mine:[/b]\x1b[2J$\\x$<script>alert(1)</script>"
    path.write_text(json.dumps({**stored, "method": hostile, "task": f"{hostile}-v0"}))
    out = Path(f"out.{'png' if command == 'compare' else 'html'}")
    main([command, str(own_run), "--out", str(out)])
    assert "\x1b" not in "".join(capsys.readouterr())
    assert b"<script>alert" not in out.read_bytes()


@pytest.mark.parametrize("field", ["task", "method", "reference"])
def test_a_file_of_settings_imports_nothing_that_the_user_does_not_name(module, field, capsys):
    """Not even to print the settings; a run's own config.json, made here, needs no word."""
    names = {"task": "side_effect:nppac-toy/Reach-v0", "method": "side_effect:Agent"}
    name = names.get(field, "side_effect:policy")
    Path("settings.json").write_text(json.dumps({field: name}))
    with pytest.raises(SystemExit):
        main(["train", "--config", "settings.json", "--print-config"])
    assert f"name it yourself: --{field} {name}." in capsys.readouterr().err
    assert not was_imported(module)


def test_settings_that_were_made_here_or_are_named_by_the_user_are_used(module, own_run, capsys):
    main(["train", "--config", str(own_run / "config.json"), "--print-config"])
    Path("settings.json").write_text('{"reference": "side_effect:policy"}')
    words = ["--reference", "side_effect:policy"]
    main(["train", "--config", "settings.json", *words, "--print-config"])
    assert capsys.readouterr().out.count('"reference": "side_effect:policy"') == 2


@pytest.mark.parametrize(
    "line",
    [
        "methods: ['side_effect:Agent']",
        "methods: {'side_effect:Agent': {}}",
        "references: ['side_effect:policy']",
        "settings: {reference: 'side_effect:policy'}",
        "tasks: ['side_effect:nppac-toy/Reach-v0']",
    ],
)
def test_a_plan_imports_nothing_without_trust(module, line, capsys):
    rest = {"methods: [sac]", "tasks: [door]", "seeds: [0]"}
    kept = [text for text in sorted(rest) if text.split(":")[0] != line.split(":")[0]]
    Path("plan.yaml").write_text("\n".join([line, *kept]))
    with pytest.raises(SystemExit):
        main(["sweep", "plan.yaml", "--dry-run"])
    assert "plan.yaml names code that would be imported: 'side_effect:" in capsys.readouterr().err
    assert not was_imported(module)
    assert read_plan_file("plan.yaml", trust=True).plan.seeds == (0,)
