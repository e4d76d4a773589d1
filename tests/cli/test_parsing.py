import pytest

from nppac.cli import main
from nppac.cli.commands import COMMANDS, HELP, RAW

from .mistakes import fails


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["train", "--steps", "abc"], "--steps"),
        (["train", "--gp.kernel", "rbff"], "'rbf'"),
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


@pytest.mark.parametrize(
    ("args", "meant"),
    [
        ("evaluate --latst X", "--latest"),
        ("evaluate X -latest", "--latest"),
        ("train --lerning_rate=1", "--learning-rate"),
        ("fit --kernle rbf", "--kernel"),
        ("demos record --polcy X --out d.npz", "--policy"),
    ],
)
def test_an_option_that_is_typed_wrongly_is_one_line_with_the_nearest(capsys, args, meant):
    assert f" Did you mean '{meant}'? `nppac " in fails(args.split(), capsys, code=2)


@pytest.mark.parametrize("command", [*RAW, *COMMANDS])
def test_no_command_takes_an_option_that_it_has_not(capsys, command):
    said = fails([*command.split(), "--zzz", "1"], capsys, code=2)
    assert said == f"Unknown option '--zzz'. `nppac {command} --help-all` shows all."


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
