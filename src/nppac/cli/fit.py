"""Commands that make and list reference policies: `fit` and `references`."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.table import Table

from nppac.api import fit_reference
from nppac.cli.parsing import parse
from nppac.cli.run_options import chosen_config, layout_for
from nppac.cli.show import console, show_reference
from nppac.demos import Demos
from nppac.demos.for_task import load_task_demos
from nppac.references import REFERENCES, CustomReference
from nppac.tasks import get_task
from nppac.training.config import RunConfig
from nppac.utils.errors import UserError
from nppac.utils.locks import check_output

FLAT = frozenset({"gp"})
FIXED = frozenset({"method", "agent", "schedule", "seed"})
BRIEF = frozenset({"task", "demos", "demo_episodes", "reference", "out", "seed", "kernel", "refit"})


@dataclass(frozen=True)
class FitArguments:
    """Fit a reference policy to demonstrations, describe it and save it.

    The flags of networks begin with --network; all others are the Gaussian process's. The seed is
    that of either.
    """

    run: RunConfig
    out: Path = Path("reference.npz")
    """File to save the reference to."""
    refit: bool = False
    """Fit the reference even if the same was fitted before."""


def fit_arguments(args: Sequence[str]) -> FitArguments:
    """Parse with the task's preset as defaults, so that `train` finds the same fit made."""
    config = chosen_config(args)
    layout = layout_for(config, BRIEF, FLAT, FIXED)
    return parse(FitArguments, args, "nppac fit", FitArguments(config), layout)


def fit_command(args: Sequence[str]) -> None:
    """Fit a reference policy to demonstrations and save it."""
    found = fit_arguments(args)
    config, name = found.run, found.run.reference
    check_output(found.out)
    demos = required_demos(config)
    settings = {"seed": config.gp.seed, "gp": config.gp, "network": config.network}
    reference = fit_reference(demos, name, **settings, custom=config.custom, refit=found.refit)
    reference.save(found.out)
    show_reference(name, reference.summary())
    print(f"Saved to {found.out}")
    if isinstance(reference, CustomReference):
        print(_how_to_load(reference))


def _how_to_load(reference: CustomReference) -> str:
    """What a user must add to a file that names code of their own, which it may not import."""
    if reference.fitted is None:
        return (
            f"The file holds the function's name only: elsewhere give --reference {reference.name}"
        )
    call = f"nppac.load_reference(FILE, trusted='{reference.name}')"
    return f"A file never imports code by itself: load it by {call}"


def required_demos(config: RunConfig) -> Demos:
    """The task's demonstrations; without any, an error that says how to give them."""
    how = config.demo_episodes, config.demo_actions
    demos = load_task_demos(get_task(config.task), config.demos, *how)
    if demos is None:
        raise UserError(f"There are no embedded demonstrations of '{config.task}': give --demos.")
    return demos


def references_command() -> None:
    """List the reference policies that have a name."""
    table = Table("reference", "what it is")
    for name, entry in REFERENCES.items():
        table.add_row(name, entry.description)
    table.add_row("mixed:MEAN+SCALE", "Mean of one of the above with the scale of another.")
    table.add_row(
        "module:function", "Your own function: states (n, o) to (loc, scale), each (n, d)."
    )
    table.add_row("FILE", "A reference that `nppac fit` saved.")
    console().print(table)
