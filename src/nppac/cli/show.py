"""What commands print: tables that fit the terminal, and numbers as people write them."""

import os
from collections.abc import Sequence
from typing import TypeGuard

from rich.console import Console
from rich.table import Table
from rich.text import Text

from nppac.utils.text import printable

PIPE_WIDTH = 160  # columns of a table that no terminal limits


def show(title: str, facts: dict[str, object]) -> None:
    """A title and a table of named facts."""
    table = Table(show_header=False)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in facts.items():
        table.add_row(printable(name), Text(text_of(value)))
    out = console()
    out.print(
        Text(printable(title)), soft_wrap=True
    )  # a table would wrap its title to its own width
    out.print(table)


def text_of(value: object) -> str:
    """A fact as people write it: 10,650 rather than 1.065e+04."""
    if value is None:
        return "-"
    if isinstance(value, list | tuple):
        return ", ".join(text_of(item) for item in value) or "none"
    if not isinstance(value, float):
        return printable(str(value), keep="\n")
    return f"{value:,.0f}" if 1_000 <= abs(value) < 1e9 else f"{value:.4g}"


def console() -> Console:
    """Standard output; a pipe has no width, and rich would cut its tables at 80 columns."""
    console = Console(markup=False, emoji=False)  # texts from files are no markup
    if not console.is_terminal and "COLUMNS" not in os.environ:
        console.width = PIPE_WIDTH
    return console


def flatten(facts: dict[str, object], prefix: str = "") -> dict[str, object]:
    """Nested facts as one level, their names joined."""
    flat: dict[str, object] = {}
    for name, value in facts.items():
        if isinstance(value, dict):
            flat |= flatten(value, f"{prefix}{name} ")
        else:
            flat[prefix + name] = value
    return flat


def show_reference(title: str, summary: dict[str, object]) -> None:
    """A reference's facts in one table, each of its long vectors and inner references in another.

    Of inner references the vectors are left out, so that all fits on one screen.
    """
    _show_facts(title, summary)
    for name, values in summary.items():
        if _is_long(values):
            show_vector(name, values)


def _show_facts(title: str, summary: dict[str, object]) -> None:
    inner = {k: v for k, v in summary.items() if isinstance(v, dict)}
    facts = {k: v for k, v in summary.items() if k not in inner and not _is_long(v)}
    show(title, facts)
    for name, part in inner.items():
        if "kind" in part:
            _show_facts(f"{title}, its {name}", part)


def _is_long(value: object) -> TypeGuard[Sequence[float]]:
    return isinstance(value, list | tuple) and bool(value) and isinstance(value[0], float)


def show_vector(name: str, values: Sequence[float]) -> None:
    """Numbers in rows, each row headed by the indices it holds."""
    out = console()
    columns = min(8, max(1, out.width // 12 - 1))  # so many as fit in full
    table = Table(show_header=False)
    for start in range(0, len(values), columns):
        row = values[start : start + columns]
        table.add_row(Text(f"{start}-{start + len(row) - 1}", "dim"), *(f"{v:.3g}" for v in row))
    out.print(Text(printable(name)))
    out.print(table)
