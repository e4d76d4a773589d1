"""Which names in a run or a plan are those of code."""

import json
import sys
from pathlib import Path

import pytest

from nppac.cli import main
from nppac.sweeps.plan_file import read_plan_file
from nppac.training.trust import named_code


@pytest.mark.parametrize("field", ["task", "method"])
@pytest.mark.parametrize("name", ["mixed:Pendulum-v1", "1x:Pendulum-v1", "a-b:0", "mixed: x"])
def test_whatever_stands_before_a_colon_is_a_module(tmp_path, field, name, monkeypatch, capsys):
    """Only a reference may be called `mixed:`; else a file mixed.py beside a run would be run."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    module = name.partition(":")[0]
    Path(f"{module}.py").write_text("open('ran', 'w')")
    Path("run").mkdir()
    given = {"task": "Pendulum-v1", "method": "sac", "reference": "uniform", field: name}
    Path("run/config.json").write_text(json.dumps(given))
    Path("plan.yaml").write_text(
        f"tasks: [{json.dumps(given['task'])}]\nmethods: [{json.dumps(given['method'])}]\n"
    )
    for words in (["evaluate", "run"], ["sweep", "plan.yaml", "--dry-run"]):
        with pytest.raises(SystemExit):
            main(words)
        assert "names code that would be imported" in capsys.readouterr().err
    assert not Path("ran").exists()
    assert module not in sys.modules


def test_places_in_a_plan_are_no_code(tmp_path):
    path = tmp_path / "plan.yaml"
    lines = ("out: s3://bucket/x", "references: ['mixed:gp+dropout']", "methods: [nppac]")
    path.write_text("\n".join([*lines, "tasks: {door: {demos: 'c:/d.npz'}}"]))
    assert read_plan_file(path).out == "s3://bucket/x"


def test_which_settings_name_code():
    assert named_code({"task": "door", "reference": "mixed:gp+dropout", "method": "sac"}) == {}
    assert named_code({"reference": "a:b", "task": "a.b:C-v0"}) == {
        "task": "a.b:C-v0",
        "reference": "a:b",
    }
