import json

import pytest

from nppac.cli import main
from nppac.sweeps import sweep as sweeps
from nppac.sweeps.plan import expand
from nppac.sweeps.plan_file import read_plan_file
from nppac.training.config import to_json
from sweeps.toy_sweep import SETTINGS, InProcess
from toy_task import TASK

from .mistakes import fails

TUNED = "runs/tune/tuned/toy_task-nppac-toy-Reach-v0-nppac.json"


@pytest.fixture
def plan(elsewhere, monkeypatch):
    monkeypatch.setattr(sweeps, "make_engine", lambda copies, runs, options: InProcess(copies.root))
    facts = {"methods": {"nppac": {"warmup_steps": [20, 40]}}, "tasks": [TASK]}
    seeds = {"tuning_seeds": [100], "evaluation_seeds": [0]}
    settings = {**SETTINGS, "reference": "uniform"}
    (elsewhere / "tune.yaml").write_text(json.dumps({**facts, **seeds, "settings": settings}))
    return elsewhere


def test_settings_are_searched_for_and_then_trained_with(plan, capsys):
    main(["tune", "tune.yaml", "--trust"])
    assert "2 runs: 2 finished" in capsys.readouterr().out
    stored = json.loads((plan / TUNED).read_text())
    best = stored["schedule"]["warmup_steps"]
    assert best == [20, 40][stored["provenance"]["tuning"]["chosen"]]

    main(["train", "--config", TUNED, "--seeds", "0", "--out", "alone"])
    (alone,) = (plan / "alone").glob("*/config.json")
    own = json.loads(alone.read_text())
    assert (own["schedule"], own["agent"]) == (stored["schedule"], stored["agent"])

    which = {"methods": ["nppac"], "tasks": [TASK], "seeds": [0]}
    (plan / "judge.yaml").write_text(json.dumps({**which, "config": TUNED}))
    (judged,) = expand(read_plan_file("judge.yaml", trust=True).plan, plan)
    own.pop("provenance")
    assert to_json(judged.config) == own


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["tune", "tune.yaml"], "names code that would be imported"),
        (["tune", "tnue.yaml"], "Did you mean 'tune.yaml'?"),
        (["tune", "tune.yaml", "--trust", "--out", "s3://bucket"], "needs a directory"),
        (["tune", "tune.yaml", "--trust", "--engine", "lokal"], "Did you mean 'local'"),
    ],
)
def test_mistakes(plan, capsys, args, message):
    assert message in fails(args, capsys)
    assert [path.name for path in plan.iterdir()] == ["tune.yaml"]
