"""Completion of commands, flags and names by the shell."""

import contextlib
import io
import re
from collections.abc import Callable, Mapping, Sequence

from nppac.utils.errors import unknown_name

GENERAL = ("--help", "--version", "--print-completion")
EVERYWHERE = ("--threads",)
"""Flags of every command, which no command parses itself."""
ZSH = "autoload -U +X compinit bashcompinit && compinit && bashcompinit\n"
FUNCTION = """_nppac() {
    local word="${COMP_WORDS[COMP_CWORD]}" before="${COMP_WORDS[COMP_CWORD-1]}"
    local command="${COMP_WORDS[1]}" words=""
    if [ "$command" = demos ] && [ "$COMP_CWORD" -ge 2 ]; then
        command="demos ${COMP_WORDS[2]}"
        [ "$COMP_CWORD" -eq 2 ] && { COMPREPLY=($(compgen -W "@GROUP@" -- "$word")); return; }
    fi
    if [ "$COMP_CWORD" -eq 1 ]; then
        COMPREPLY=($(compgen -W "@COMMANDS@" -- "$word"))
        return
    fi
    case "$before" in
@VALUES@
    esac
    if [ -z "$words" ]; then
        case "$word" in -*) ;; *) COMPREPLY=($(compgen -f -- "$word")); return ;; esac
        case "$command" in
@FLAGS@
        esac
    fi
    COMPREPLY=($(compgen -W "$words" -- "$word"))
}
complete -o filenames -F _nppac nppac
"""


def shell_script(
    shell: str, flags: Mapping[str, Sequence[str]], values: Mapping[str, Sequence[str]]
) -> str:
    """A script for bash or zsh: the flags of each command, and the names that some flags take."""
    if shell not in ("bash", "zsh"):
        raise unknown_name("shell", shell, ("bash", "zsh"))
    first = dict.fromkeys(name.partition(" ")[0] for name in flags)
    group = [name.partition(" ")[2] for name in flags if name.startswith("demos ")]
    script = (
        FUNCTION.replace("@COMMANDS@", " ".join([*first, *GENERAL]))
        .replace("@GROUP@", " ".join(group))
        .replace("@VALUES@", _cases(values, 8))
        .replace("@FLAGS@", _cases(flags, 12))
    )
    return (ZSH if shell == "zsh" else "") + script


def _cases(words: Mapping[str, Sequence[str]], indent: int) -> str:
    lines = (f'"{name}") words="{" ".join(known)}" ;;' for name, known in words.items())
    return "\n".join(" " * indent + line for line in lines)


def flags_of(command: Callable[[Sequence[str]], object]) -> list[str]:
    """Every flag that the help of a command shows."""
    text = io.StringIO()
    with contextlib.redirect_stdout(text), contextlib.suppress(SystemExit):
        command(["--help-all"])
    found = re.findall(r"(?<![\w-])--[a-z][a-z0-9.-]*[a-z0-9]", _option_column(text))
    return sorted({*found, *EVERYWHERE})


def _option_column(text: io.StringIO) -> str:
    """The lines that begin with a flag; others may speak of the flags of other commands."""
    lines = [line.strip("│ ") for line in text.getvalue().splitlines()]
    return "\n".join(line for line in lines if line.startswith("-"))
