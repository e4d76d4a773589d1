"""Maps of the predictive variance over two principal components, one colour scale per row."""

from collections.abc import Mapping
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LogNorm

from nppac.plotting.style import COLOUR_MAP, save_figure
from nppac.utils.files import read_arrays

DARKEST, WIDEST = 1e-8, 6.0
"""Least variance that is drawn apart from smaller ones, and most decades in one colour scale."""


def draw_maps(data: Path, picture: Path, title: str) -> None:
    """Every row of the saved maps, its panels side by side in blocks of three."""
    arrays = read_arrays(data)
    rows = [_row(arrays, i) for i in range(int(arrays["rows"]))]
    columns = min(3, max(len(row["panels"]) for row in rows))
    blocks = [_blocks(row, columns) for row in rows]
    height = sum(blocks)
    figure = plt.figure(figsize=(3.6 * columns + 1.4, 3.0 * height + 0.5), layout="constrained")
    grids = figure.subfigures(len(rows), 1, height_ratios=blocks, squeeze=False).ravel()
    for grid, row, block in zip(grids, rows, blocks, strict=True):
        axes = np.atleast_1d(grid.subplots(block, columns, sharex=True, sharey=True)).ravel()
        norm, image = _norm(row["variance"]), None
        for k, axis in enumerate(axes):
            if k >= len(row["panels"]):
                axis.set_visible(False)
                continue
            image = _draw_map(axis, row, k, norm)
            axis.label_outer()
        assert image is not None
        bar = grid.colorbar(image, ax=list(axes), extend="min", pad=0.02)
        bar.set_label("predictive variance (action units²)")
        grid.suptitle(str(row["title"]), fontsize=11, fontweight="bold", parse_math=False)
    figure.suptitle(title, fontsize=13)
    save_figure(figure, picture)


def _row(arrays: Mapping[str, np.ndarray], i: int) -> dict[str, np.ndarray]:
    prefix = f"{i}_"
    return {k.removeprefix(prefix): v for k, v in arrays.items() if k.startswith(prefix)}


def _blocks(row: Mapping[str, np.ndarray], columns: int) -> int:
    return -(-len(row["panels"]) // columns)


def _norm(variance: np.ndarray) -> LogNorm:
    """One logarithmic scale for all panels, of at most `WIDEST` decades."""
    high = float(variance.max())
    low = max(float(variance.min()), DARKEST, high / 10.0**WIDEST)
    return LogNorm(min(low, high / 2.0), high)


def _draw_map(axis: Axes, row: Mapping[str, np.ndarray], k: int, norm: LogNorm):
    image = axis.pcolormesh(
        row["first"],
        row["second"],
        np.maximum(row["variance"][k], norm.vmin or 0.0),
        norm=norm,
        cmap=COLOUR_MAP,
        shading="gouraud",
        rasterized=True,
    )
    axis.plot(*row["demos"].T, ".", color="black", ms=1.0, mew=0.0)
    share = 100.0 * row["explained"]
    axis.set(
        title=str(row["panels"][k]),
        xlabel=f"first principal component ({share[0]:.0f} %)",
        ylabel=f"second component ({share[1]:.0f} %)",
        xlim=(row["first"][0], row["first"][-1]),
        ylim=(row["second"][0], row["second"][-1]),
    )
    return image
