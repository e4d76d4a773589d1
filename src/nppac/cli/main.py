"""The command line: `nppac COMMAND`, each command a function whose docstring is its help."""

import os
import sys
from collections.abc import Callable, Sequence

import tyro
from rich.table import Table

import nppac
from nppac.agents.methods import METHODS, Needs
from nppac.cli.compilation import keep_compiled_programs
from nppac.cli.demos import (
    demos_convert,
    demos_inspect,
    demos_list,
    demos_record,
    demos_relabel,
)
from nppac.cli.distill import distill
from nppac.cli.doctor import doctor_command
from nppac.cli.fit import fit, references
from nppac.cli.policies import compare, evaluate, render
from nppac.cli.reproduce import reproduce
from nppac.cli.show import console
from nppac.cli.training import resume, train
from nppac.tasks import TASKS
from nppac.utils.errors import UserError, unknown_name

METHODS_WIDTH = 100
NEEDS_IN_WORDS: dict[Needs, str] = {
    "nothing": "none are used",
    "actions": "states, actions",
    "rewards": "states, actions, rewards",
    "episodes": "whole episodes with rewards",
}


def tasks() -> None:
    """List the tasks that have a name; any other Gymnasium id works too."""
    table = Table("task", "environment", "horizon", "what it is")
    for spec in TASKS.values():
        table.add_row(spec.name, spec.env_id, str(spec.horizon), spec.description)
    console().print(table)


def methods() -> None:
    """List the methods that `train --method NAME` takes and what they need."""
    out = console()
    names = ("method", "regularised by", "demonstrations need", "reference", "what it is")
    width = min(out.width, METHODS_WIDTH)
    table = Table(*names, width=width, padding=0, collapse_padding=True)
    for name, method in METHODS.items():
        needs = NEEDS_IN_WORDS[method.needs]
        table.add_row(name, method.family, needs, method.reference, method.summary)
    table.columns[0].no_wrap = True
    table.columns[2].no_wrap = width >= METHODS_WIDTH
    table.columns[-1].overflow = "fold"
    out.print(table)


RAW: dict[str, Callable[[Sequence[str]], None]] = {
    "train": train,
    "fit": fit,
    "doctor": doctor_command,
}
COMMANDS: dict[str, Callable[..., None]] = {
    "resume": resume,
    "compare": compare,
    "evaluate": evaluate,
    "render": render,
    "distill": distill,
    "demos list": demos_list,
    "demos inspect": demos_inspect,
    "demos convert": demos_convert,
    "demos record": demos_record,
    "demos relabel": demos_relabel,
    "tasks": tasks,
    "methods": methods,
    "references": references,
    "reproduce": reproduce,
}
HELP: dict[str, str] = {
    "train": "Train a policy from demonstrations.",
    "fit": "Fit a reference policy to demonstrations and save it.",
    "doctor": "Judge a reference policy by its variance on and off the data.",
} | {name: (command.__doc__ or "").splitlines()[0] for name, command in COMMANDS.items()}


def main(argv: Sequence[str] | None = None) -> None:
    """Run one command; a user's mistake becomes one clear message and exit code 1."""
    args = list(sys.argv[1:] if argv is None else argv)
    if argv is None:  # a caller from Python owns JAX's settings
        keep_compiled_programs()
    try:
        _dispatch(args)
        sys.stdout.flush()
    except BrokenPipeError:  # the reader, such as `head`, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise SystemExit(1) from None
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
        raise SystemExit(1) from None
    except PermissionError as error:
        print(f"error: {error.filename}: {error.strerror}.", file=sys.stderr)
        raise SystemExit(1) from None
    except KeyboardInterrupt:
        print("Stopped.", file=sys.stderr)
        raise SystemExit(130) from None


def _dispatch(args: list[str]) -> None:
    if not args or args[0] in ("-h", "--help", "help"):
        _overview()
        return
    if args[0] == "--version":
        print(nppac.__version__)
        return
    words = 2 if args[0] == "demos" else 1
    name, rest = " ".join(args[:words]), args[words:]
    if name in RAW:
        RAW[name](rest)
    elif name in COMMANDS:
        tyro.cli(COMMANDS[name], args=rest, prog=f"nppac {name}")
    elif args[0] == "demos" and (len(args) == 1 or args[1] in ("-h", "--help")):
        _overview("demos")
    else:
        raise unknown_name("command", name, [*HELP, "--help", "--version"])


def _overview(prefix: str = "") -> None:
    print("nppac: reinforcement learning from a few demonstrations.\n")
    for name, text in HELP.items():
        if name.startswith(prefix):
            print(f"  nppac {name:14} {text}")
    names = "" if prefix else f"Methods: {', '.join(METHODS)}. "
    print(f"\n{names}`nppac COMMAND --help` explains each.")
