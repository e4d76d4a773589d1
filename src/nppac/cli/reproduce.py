"""The command `reproduce`: the paper's figures that need no online training."""

from pathlib import Path
from typing import Annotated

import tyro
from rich.table import Table

from nppac.cli.arguments import Positional
from nppac.cli.show import console
from nppac.reproduce import FIGURES, reproduce
from nppac.reproduce.maps import MAPPED_TASKS
from nppac.utils.errors import UserError, unknown_name
from nppac.utils.locks import check_writable


def reproduce_command(
    name: Annotated[Positional[str], tyro.conf.arg(metavar="NAME")] = "list",
    out: Annotated[Path, tyro.conf.arg(metavar="DIRECTORY")] = Path("reproduction"),
    demos: Annotated[
        tuple[str, ...], tyro.conf.arg(metavar="TASK=SOURCE"), tyro.conf.UseAppendAction
    ] = (),
    quick: bool = False,
) -> None:
    """Reproduce a figure of the paper; without a name, list those that there are.

    Args:
        name: A figure's name, or `list`.
        out: Directory for the figure, the data that it is drawn from, and the record of both.
        demos: Demonstrations of a task, once for each: a file, a Minari id; else the embedded ones.
        quick: Compute little, to see that everything works; the figure means nothing then.
    """
    if name == "list":
        _list()
        return
    check_writable(out)
    made = reproduce(name, out, sources_of(demos), quick=quick)
    for note in made.notes:
        print(note)
    print(f"Figure: {made.picture}\nData: {made.data}\nRecord: {made.record}")


def _list() -> None:
    table = Table("figure", "what it shows")
    for name, description in FIGURES.items():
        table.add_row(name, description)
    console().print(table)


def sources_of(pairs: tuple[str, ...]) -> dict[str, str]:
    """TASK=SOURCE as a mapping; a task that no figure shows is a mistake."""
    sources: dict[str, str] = {}
    for pair in pairs:
        task, equals, source = pair.partition("=")
        if not equals or not source:
            raise UserError(f"'{pair}' names no demonstrations of a task. Write TASK=SOURCE.")
        if task not in MAPPED_TASKS:
            raise unknown_name("task of the paper", task, MAPPED_TASKS)
        sources[task] = source
    return sources
