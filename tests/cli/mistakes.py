"""How a user's mistake is told."""

import pytest

from nppac.cli import main


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
