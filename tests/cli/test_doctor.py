import json

import pytest

from nppac.cli import main
from nppac.diagnostics import EXIT_CODES
from toy_task import TASK

from .own import BAD

DATA = ["--task", TASK, "--demos", "demos.npz", "--out", "out"]


def diagnose(reference, *flags):
    """The exit code of the command."""
    try:
        main(["doctor", *DATA, "--reference", reference, "--episodes", "2", *flags])
    except SystemExit as exit:
        return exit.code
    return 0


@pytest.mark.parametrize(
    ("function", "verdict"),
    [
        ("growing", "healthy"),
        ("constant", "flat"),
        ("falling", "collapses"),
        ("vanishing", "exploding"),
    ],
)
def test_the_exit_code_is_the_verdict_and_the_numbers_are_shown(own, capsys, function, verdict):
    assert diagnose(f"my_robot:{function}") == EXIT_CODES[verdict]
    out, _ = capsys.readouterr()
    assert out.startswith(f"my_robot:{function} on {TASK}: {verdict.upper()}\n")
    for shown in ("on the data", "random directions", "principal directions", "coverage"):
        assert shown in out
    assert "Numbers: out/diagnosis.json\nFigure: out/doctor.png\n" in out
    stored = json.loads((own / "out" / "diagnosis.json").read_text())
    assert stored["verdict"] == verdict
    assert stored["provenance"]["command"].startswith("nppac")
    assert (own / "out" / "doctor.png").exists()


@pytest.mark.parametrize("function", [*BAD, "narrow"])
def test_a_broken_reference_is_named(own, capsys, function):
    assert diagnose(f"my_robot:{function}") == EXIT_CODES["broken"]
    out, _ = capsys.readouterr()
    assert f"my_robot:{function} on {TASK}: BROKEN\n" in out
    assert BAD.get(function, "loc (28, 1) and scale (28, 1); both must be (28, 2)") in out
    assert not (own / "out" / "doctor.png").exists()


def test_a_reference_is_fitted_with_the_flags(own, capsys):
    small = ["--gp.kernel", "rbf", "--gp.max-steps", "2"]
    assert diagnose("gp", *small) in EXIT_CODES.values()
    assert "held-out episodes" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--episodes", "-1"], "'episodes' is -1"),
        (["--seed", "-1"], "'seed' is -1"),
        (["--demos", "absent.npz"], "No demonstrations 'absent.npz'"),
        (["--reference", "absent.npz"], "There is no reference file absent.npz"),
    ],
)
def test_mistakes_are_named(own, capsys, flags, message):
    with pytest.raises(SystemExit) as exit:
        main(["doctor", *DATA, *flags])
    assert exit.value.code == 1
    assert message in capsys.readouterr().err


def test_the_help_explains_the_exit_codes(capsys):
    with pytest.raises(SystemExit):
        main(["doctor", "--help"])
    out, _ = capsys.readouterr()
    for verdict, code in EXIT_CODES.items():
        assert f"{code} {verdict}:" in out
