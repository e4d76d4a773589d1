"""What all figures share: a backend without a window, line styles, and how a file is written."""

from pathlib import Path
from typing import TypedDict

import matplotlib

from nppac.utils.files import write_atomically

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure

COLOURS = ("#1f4e9c", "#d1701f", "#3c8d40", "#7b4fa3")
DASHES = ("-", "--", "-.", ":")
MARKERS = ("o", "s", "^", "D")
COLOUR_MAP = "viridis"
"""Perceptually uniform, so that it reads in grey as well."""
DPI = 130
LEFT_OF_PANEL, RIGHT_OF_PANELS = 1.02, 0.18
"""Inches: a label and five digits fit before a panel, half a tick's label after the last one."""
LONG_NUMBERS = (-4, 5)
"""From these powers of ten on, one power above the axis stands for digits at each tick."""


class LineStyle(TypedDict):
    """Keywords of Matplotlib's `plot`."""

    color: str
    linestyle: str
    marker: str


def line_style(i: int) -> LineStyle:
    """Colour, dash and marker of the i-th line: three ways to tell it from the others."""
    n = len(COLOURS)
    dash = DASHES[(i + i // n) % n]  # colours come again with other dashes
    return {"color": COLOURS[i % n], "linestyle": dash, "marker": MARKERS[i % n]}


def seeds_label(name: str, runs: int) -> str:
    """A name, and how many seeds its line or row stands for."""
    return f"{name} ({runs} seed{'' if runs == 1 else 's'})"


def panels_in_a_row(
    count: int, size: tuple[float, float], above: float, below: float
) -> tuple[Figure, list[Axes]]:
    """Equal panels with so many inches for text above and below them.

    To measure all text for a layout takes twice as long as to draw the figure.
    """
    figure, axes = plt.subplots(1, count, figsize=size)
    width, height = size
    panel = (width - RIGHT_OF_PANELS) / count - LEFT_OF_PANEL
    figure.subplots_adjust(
        left=LEFT_OF_PANEL / width,
        right=1.0 - RIGHT_OF_PANELS / width,
        bottom=below / height,
        top=1.0 - above / height,
        wspace=LEFT_OF_PANEL / panel,
    )
    for axis in axes:
        axis.ticklabel_format(axis="y", scilimits=LONG_NUMBERS)
    return figure, list(axes)


def save_figure(figure: Figure, path: str | Path) -> None:
    """Write a figure as PNG, atomically, and forget it."""
    try:
        _lay_out(figure)
        write_atomically(path, lambda file: figure.savefig(file, dpi=DPI, format="png"))
    finally:
        plt.close(figure)


def _lay_out(figure: Figure) -> None:
    """Do what Matplotlib does before it saves, but for a drawing that nobody sees."""
    figure.set_dpi(DPI)
    if (engine := figure.get_layout_engine()) is not None:
        engine.execute(figure)
        figure.set_layout_engine("none")
