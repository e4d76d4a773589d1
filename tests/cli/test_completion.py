import subprocess

import pytest

from nppac.cli import main
from nppac.cli.commands import HELP

from .mistakes import fails

COMPLETE = """
source completion.sh
complete -p nppac
COMP_WORDS=({words}); COMP_CWORD={place}; _nppac; echo "${{COMPREPLY[@]}}"
"""


@pytest.fixture(scope="module")
def script(tmp_path_factory):
    """What `nppac --print-completion bash` prints."""
    import contextlib
    import io

    text = io.StringIO()
    with contextlib.redirect_stdout(text):
        main(["--print-completion", "bash"])
    return text.getvalue()


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["nppac", "ev"], ["evaluate"]),
        (["nppac", "demos", "re"], ["record", "relabel"]),
        (["nppac", "train", "--utd"], ["--utd-ratio"]),
        (["nppac", "train", "--gp.ker"], ["--gp.kernel"]),
        (["nppac", "train", "--task", "d"], ["door"]),
        (["nppac", "train", "--method", "nppac-"], ["nppac-anchored"]),
        (["nppac", "demos", "record", "--only"], ["--only-successes"]),
        (["nppac", "resume", "--st"], ["--steps"]),
        (["nppac", "evaluate", "comp"], ["completion.sh"]),
    ],
    ids=" ".join,
)
def test_bash_completes(tmp_path, script, words, expected):
    (tmp_path / "completion.sh").write_text(script)
    code = COMPLETE.format(words=" ".join(words), place=len(words) - 1)
    done = subprocess.run(["bash", "-c", code], capture_output=True, text=True, cwd=tmp_path)
    registered, found = done.stdout.splitlines()
    assert done.stderr == ""
    assert registered.endswith("-F _nppac nppac")
    assert sorted(found.split()) == expected


def test_every_command_is_known(script):
    for command in HELP:
        assert f'"{command}") words="' in script


def test_other_shells(capsys):
    assert "Unknown shell 'fish'" in fails(["--print-completion", "fish"], capsys)
    main(["--print-completion", "zsh"])
    assert "bashcompinit" in capsys.readouterr().out.splitlines()[0]
