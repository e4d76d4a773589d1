"""Commands that make and list reference policies: `fit` and `references`."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

import tyro
from rich.table import Table

from nppac.cli.arguments import Choice, OptionalCount, OptionalDemos
from nppac.cli.show import console, show_reference
from nppac.demos import Demos
from nppac.demos.for_task import load_task_demos
from nppac.references import (
    REFERENCES,
    CustomReference,
    GPConfig,
    NetworkConfig,
    Reference,
    fitted_reference,
    given_reference,
)
from nppac.tasks import get_task
from nppac.training.presets import preset
from nppac.utils.errors import UserError


@dataclass(frozen=True)
class FitArgs:
    """Fit a reference policy to demonstrations, describe it and save it.

    The flags of networks begin with --network; all others are the Gaussian process's. The seed is
    that of either.
    """

    task: str = "door"
    """The task that the demonstrations are of."""
    demos: OptionalDemos = None
    """Demonstrations: a file, a Minari id or an embedded name; by default the task's embedded."""
    demo_episodes: OptionalCount = None
    """Use only the first so many demonstrations."""
    reference: str = "gp"
    """A name that `nppac references` lists, mixed:MEAN+SCALE, or your own module:function."""
    out: Path = Path("reference.npz")
    """File to save the reference to."""
    gp: Annotated[GPConfig, tyro.conf.OmitArgPrefixes] = field(default_factory=GPConfig)
    network: NetworkConfig = field(default_factory=NetworkConfig)


def fit(argv: Sequence[str]) -> None:
    """Parse with the task's preset as defaults, fit, describe and save."""
    chosen, _ = tyro.cli(Choice, args=argv, return_unknown_args=True, add_help=False)
    base = preset(chosen.task)
    args = tyro.cli(
        FitArgs, args=argv, default=FitArgs(base.task, base.demos, gp=base.gp), prog="nppac fit"
    )
    demos = required_demos(args.task, args.demos, args.demo_episodes)
    reference = given_reference(args.reference)
    if reference is None:
        settings = {"seed": args.gp.seed, "gp": args.gp, "network": args.network}
        reference = fitted_reference(args.reference, demos.obs, demos.actions, **settings)
    _check(reference, args.reference, demos)
    reference.save(args.out)
    show_reference(args.reference, reference.summary())
    print(f"Saved to {args.out}")
    if isinstance(reference, CustomReference):
        print(
            f"The file holds the function's name only: elsewhere give --reference {reference.name}"
        )


def _check(reference: Reference, name: str, demos: Demos) -> None:
    """A function of the user's own can be anything: look before it is saved."""
    answered = reference(demos.obs[:16]).loc.shape[1]
    if answered != demos.action_dim:
        raise UserError(
            f"The reference '{name}' answers with {answered} actions where the demonstrations "
            f"have {demos.action_dim}."
        )


def required_demos(task: str, source: str | None, episodes: int | None = None) -> Demos:
    """The task's demonstrations; without any, an error that says how to give them."""
    demos = load_task_demos(get_task(task), source, episodes)
    if demos is None:
        raise UserError(f"There are no embedded demonstrations of '{task}': give --demos.")
    return demos


def references() -> None:
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
