import pytest

from nppac.agents.registry import METHODS
from nppac.cli import main
from nppac.cli.commands import HELP


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
