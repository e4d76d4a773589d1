"""What all figures share: a backend without a window, line styles, and how a file is written."""

from pathlib import Path
from typing import TypedDict

import matplotlib

from nppac.utils.files import write_atomically

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from matplotlib.figure import Figure

COLOURS = ("#1f4e9c", "#d1701f", "#3c8d40", "#7b4fa3")
DASHES = ("-", "--", "-.", ":")
MARKERS = ("o", "s", "^", "D")
COLOUR_MAP = "viridis"
"""Perceptually uniform, so that it reads in grey as well."""


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


def save_figure(figure: Figure, path: str | Path) -> None:
    """Write a figure as PNG, atomically, and forget it."""
    try:
        write_atomically(path, lambda file: figure.savefig(file, dpi=130, format="png"))
    finally:
        plt.close(figure)
