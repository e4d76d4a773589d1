import json

import pytest

from nppac.cli import main
from nppac.sweeps import sweep as sweeps
from sweeps.toy_sweep import SETTINGS, InProcess
from toy_task import TASK

from .mistakes import fails

PLAN = ["sweep", "plan.yaml", "--trust"]  # its task is of a module of the tests


@pytest.fixture
def plan(elsewhere):
    settings = {**SETTINGS, "reference": "uniform"}
    facts = {"methods": ["nppac"], "tasks": [TASK], "seeds": "0..1", "settings": settings}
    (elsewhere / "plan.yaml").write_text(json.dumps(facts))  # JSON is YAML
    return elsewhere


@pytest.fixture(autouse=True)
def _in_this_process(monkeypatch):
    monkeypatch.setattr(sweeps, "make_engine", lambda copies, runs, options: InProcess(copies.root))


def test_a_plan_is_shown_run_and_shown_again(plan, capsys):
    main([*PLAN, "--dry-run"])
    assert "2 runs in runs/plan" in capsys.readouterr().out
    assert [path.name for path in plan.iterdir()] == ["plan.yaml"]
    main(PLAN)
    out, err = capsys.readouterr()
    assert "2 runs: 2 finished" in out
    assert "nppac report runs/plan" in out
    assert err.count(": finished, 40/40 steps") == 2
    main(["sweep", "status", "runs/plan"])
    assert "2 runs: 2 finished" in capsys.readouterr().out
    main([*PLAN, "--dry-run"])
    out = capsys.readouterr().out
    assert "2 runs in runs/plan" in out
    assert "unknown" not in out  # these runs have been timed


def test_the_same_from_flags(elsewhere, capsys):
    given = ["--methods", "sac", "nppac", "--tasks", "halfcheetah", "--seeds", "0,3"]
    main(["sweep", *given, "--set", "steps=5000", "gp.kernel=rbf", "--dry-run", "--out", "here"])
    out = capsys.readouterr().out
    assert "halfcheetah-nppac-seed3" in out
    assert "5,000" in out
    assert "4 runs in here" in out


def test_a_dry_run_tells_which_demonstrations_are_missing(elsewhere, capsys):
    given = ["--methods", "nppac", "--tasks", "halfcheetah", "--set", "demos=absent.npz"]
    with pytest.raises(SystemExit) as exit:
        main(["sweep", *given, "--dry-run"])
    assert exit.value.code == 1
    out, err = capsys.readouterr()
    assert "3 runs in runs/sweep" in out  # what is missing does not hide the plan
    assert "The run 'halfcheetah-nppac-seed0'" in err
    assert "absent.npz" in err


def flags(settings):
    for name, value in settings.items():
        yield f"--{name.replace('_', '-')}"
        yield from map(str, value if isinstance(value, list) else [value])


def test_train_with_seeds_is_a_sweep(elsewhere, capsys):
    given = ["--task", TASK, "--method", "nppac", "--reference", "uniform", *flags(SETTINGS)]
    main(["train", *given, "--seeds", "0..1", "--track", "tensorboard"])
    assert "2 runs: 2 finished" in capsys.readouterr().out
    (root,) = (elsewhere / "runs").iterdir()
    assert [path.name[-5:] for path in sorted(root.iterdir())][1:] == ["seed0", "seed1"]
    assert len(list(root.glob("*/tensorboard/events*"))) == 2


def test_a_failed_run_has_code_1_and_its_reason(plan, capsys):
    where = plan / "runs/plan" / "toy_task-nppac-toy-Reach-v0-nppac-seed0"
    where.mkdir(parents=True)
    (where / "mine.txt").touch()
    with pytest.raises(SystemExit) as exit:
        main([*PLAN, "--retries", "0"])
    assert exit.value.code == 1
    out, err = capsys.readouterr()
    assert "1 finished" in out
    assert "exists and is not empty" in err


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["sweep"], "Give a plan, or both --methods and --tasks"),
        (["sweep", "none.yaml"], "There is no file none.yaml"),
        ([*PLAN, "--engine", "rya"], "Did you mean 'ray'"),
        ([*PLAN, "--address", "auto"], "add --engine ray"),
        ([*PLAN, "--workers", "0"], "'workers' is 0"),
        ([*PLAN, "--threads-per-run", "9999"], "'threads_per_run' is 9999"),
        ([*PLAN, "--set", "steps"], "write NAME=VALUE"),
        ([*PLAN, "--seeds", "3..1"], "must rise"),
        (["sweep", "plna.yaml"], "There is no file plna.yaml. Did you mean 'plan.yaml'?"),
        ([*PLAN, "--tasks", "dor"], "Did you mean 'door'"),
        ([*PLAN, "--references", "gpp"], "Did you mean 'gp'"),
        ([*PLAN, "--references", "gp"], "needs demonstrations"),
        (["sweep", "status", "nowhere"], "is not the directory of a sweep"),
    ],
)
def test_mistakes(plan, capsys, args, message):
    assert message in fails(args, capsys)
    assert [path.name for path in plan.iterdir()] == ["plan.yaml"]
