"""The commands, each a function whose docstring is its help."""

import sys
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import get_args

from rich.table import Table

from nppac.agents.registry import METHODS, Needs
from nppac.cli.completion import flags_of, shell_script
from nppac.cli.demos import (
    demos_convert_command,
    demos_inspect_command,
    demos_list_command,
    demos_record_command,
    demos_relabel_command,
)
from nppac.cli.distill import distill_command
from nppac.cli.doctor import doctor_command
from nppac.cli.fit import fit_command, references_command
from nppac.cli.parsing import parse
from nppac.cli.policies import compare_command, evaluate_command, render_command
from nppac.cli.report import report_command
from nppac.cli.reproduce import reproduce_command
from nppac.cli.show import console
from nppac.cli.sweep import status_command, sweep_command
from nppac.cli.training import resume_command, train_command
from nppac.cli.tune import tune_command
from nppac.references import REFERENCES
from nppac.tasks import TASKS
from nppac.training.presets import Preset
from nppac.training.signals import stopping_at_once
from nppac.utils.compilation import keep_compiled_programs
from nppac.utils.errors import UserError, unknown_name

METHODS_WIDTH = 100
NEEDS_IN_WORDS: dict[Needs, str] = {
    "nothing": "none are used",
    "actions": "states, actions",
    "rewards": "states, actions, rewards",
    "episodes": "whole episodes with rewards",
}


def tasks_command() -> None:
    """List the tasks that have a name; any other Gymnasium id works too."""
    table = Table("task", "environment", "horizon", "what it is")
    for spec in TASKS.values():
        table.add_row(spec.name, spec.env_id, str(spec.horizon), spec.description)
    console().print(table)


def methods_command() -> None:
    """List the methods that `train --method NAME` takes and what they need."""
    out = console()
    names = ("method", "regularised by", "demonstrations need", "reference", "what it is")
    width = min(out.width, METHODS_WIDTH)
    table = Table(*names, width=width, padding=0, collapse_padding=True)
    for name, method in METHODS.items():
        needs = NEEDS_IN_WORDS[method.needs]
        table.add_row(name, method.regulariser, needs, method.reference, method.summary)
    table.columns[0].no_wrap = True
    table.columns[2].no_wrap = width >= METHODS_WIDTH
    table.columns[-1].overflow = "fold"
    out.print(table)


RAW: dict[str, Callable[[Sequence[str]], None]] = {
    "train": train_command,
    "fit": fit_command,
    "doctor": doctor_command,
    "sweep": sweep_command,
    "tune": tune_command,
}
"""Commands whose flags are the settings of a run, which they parse themselves."""
COMMANDS: dict[str, Callable[..., None]] = {
    "resume": resume_command,
    "sweep status": status_command,
    "compare": compare_command,
    "report": report_command,
    "evaluate": evaluate_command,
    "render": render_command,
    "distill": distill_command,
    "demos list": demos_list_command,
    "demos inspect": demos_inspect_command,
    "demos convert": demos_convert_command,
    "demos record": demos_record_command,
    "demos relabel": demos_relabel_command,
    "tasks": tasks_command,
    "methods": methods_command,
    "references": references_command,
    "reproduce": reproduce_command,
}
HELP: dict[str, str] = {
    name: (command.__doc__ or "").splitlines()[0] for name, command in {**RAW, **COMMANDS}.items()
}


def run_command(args: Sequence[str], owns_process: bool) -> None:
    """Run the command that the first words name; a mistake is told in one line, with code 1."""
    if owns_process:  # a caller from Python owns JAX's settings
        keep_compiled_programs()
    try:
        with stopping_at_once() if owns_process else nullcontext():
            _dispatch(list(args))
            sys.stdout.flush()
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
        raise SystemExit(1) from None
    except PermissionError as error:
        print(f"error: {error.filename}: {error.strerror}.", file=sys.stderr)
        raise SystemExit(1) from None


def _dispatch(args: list[str]) -> None:
    if not args or args[0] in ("-h", "--help", "help"):
        _overview()
        return
    if args[0] == "--print-completion":
        print(completion_script(args[1] if args[1:] else "bash"), end="")
        return
    words = 2 if args[0] == "demos" or " ".join(args[:2]) in COMMANDS else 1
    name, rest = " ".join(args[:words]), args[words:]
    if name in RAW:
        RAW[name](rest)
    elif name in COMMANDS:
        parse(COMMANDS[name], rest, f"nppac {name}")
    elif args[0] == "demos" and (len(args) == 1 or args[1] in ("-h", "--help")):
        _overview("demos")
    else:
        raise unknown_name("command", name, [*HELP, "--help", "--version", "--print-completion"])


def _overview(prefix: str = "") -> None:
    print("nppac: reinforcement learning from a few demonstrations.\n")
    for name, text in HELP.items():
        if name.startswith(prefix):
            print(f"  nppac {name:14} {text}")
    names = "" if prefix else f"Methods: {', '.join(METHODS)}. "
    print(f"\n{names}`nppac COMMAND --help` explains each.")
    if not prefix:
        print("--threads N bounds the threads of any command, also where NPPAC_THREADS says it.")
        print('Completion of words by Tab: eval "$(nppac --print-completion bash)", or zsh.')


def completion_script(shell: str) -> str:
    """A script that completes commands, their flags, and the names that some flags take."""
    flags = {name: flags_of(lambda words, run=run: run(words)) for name, run in RAW.items()}
    for name, command in COMMANDS.items():
        flags[name] = flags_of(
            lambda words, name=name, command=command: parse(command, words, f"nppac {name}")
        )
    values = {
        "--task": [*TASKS],
        "--method": [*METHODS],
        "--reference": [*REFERENCES],
        "--preset": [*get_args(Preset)],
    }
    return shell_script(shell, flags, values)
