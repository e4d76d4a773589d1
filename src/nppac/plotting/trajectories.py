"""Mean trajectories of the palm in space, coloured by the predictive variance along them."""

from collections.abc import Mapping
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.cm import ScalarMappable
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure
from mpl_toolkits.mplot3d import Axes3D
from mpl_toolkits.mplot3d.art3d import Line3DCollection

from nppac.plotting.style import COLOUR_MAP, save_figure
from nppac.utils.files import read_arrays

GOAL_COLOUR = "#2ca02c"
THINNEST, THICKEST = 1.5, 7.0
"""Width of the line where the variance is smallest and largest, in points."""


def draw_trajectories(data: Path, picture: Path) -> None:
    """One panel a reference, all of one space and one colour scale; wide and bright is unsure."""
    arrays = read_arrays(data)
    names = [str(name) for name in arrays["names"]]
    all_variances = np.concatenate([arrays[f"{i}_variance"] for i in range(len(names))])
    norm = LogNorm(max(float(all_variances.min()), 1e-6), float(all_variances.max()))
    figure = plt.figure(figsize=(4.6 * len(names) + 1, 4.3), layout="constrained")
    axes = [_add_panel(figure, i, len(names)) for i in range(len(names))]
    for i, (name, axis) in enumerate(zip(names, axes, strict=True)):
        _draw_path(axis, arrays[f"{i}_palm"], arrays[f"{i}_variance"], norm)
        _draw_surroundings(axis, arrays, i)
        outcome = "opens the door" if arrays[f"{i}_success"] else "does not open the door"
        axis.set_title(f"{name}: {outcome}", fontsize=11)
    _share_limits(axes, arrays, len(names))
    axes[0].legend(loc="upper left", fontsize=8)
    bar = figure.colorbar(ScalarMappable(norm, COLOUR_MAP), ax=axes, shrink=0.7, pad=0.06)
    bar.set_label("predictive variance (action units²)")
    figure.suptitle("Mean trajectory of the palm on an unseen door; wide and bright is uncertain")
    save_figure(figure, picture)


def _add_panel(figure: Figure, i: int, count: int) -> Axes3D:
    axis = figure.add_subplot(1, count, i + 1, projection="3d")
    assert isinstance(axis, Axes3D)
    return axis


def _draw_path(axis: Axes3D, palm: np.ndarray, variance: np.ndarray, norm: LogNorm) -> None:
    segments = np.stack([palm[:-1], palm[1:]], 1)
    shown = np.clip(variance[:-1], norm.vmin, norm.vmax)
    width = THINNEST + (THICKEST - THINNEST) * np.asarray(norm(shown))
    tube = Line3DCollection(
        segments, cmap=COLOUR_MAP, norm=norm, linewidths=width, capstyle="round"
    )
    tube.set_array(shown)
    axis.add_collection3d(tube)


def _draw_surroundings(axis: Axes3D, arrays: Mapping[str, np.ndarray], i: int) -> None:
    """Demonstrated trajectories in grey, the start in black and the goal in green."""
    axis.plot(*arrays["demo_palms"].T, color="0.6", lw=0.4, alpha=0.5, label="demonstrations")
    start, goal = arrays[f"{i}_palm"][0], arrays["goal"]
    axis.scatter(*start, color="black", s=60, depthshade=False, label="start")
    axis.scatter(
        *goal, color=GOAL_COLOUR, s=110, marker="*", depthshade=False, label="goal: the handle"
    )
    axis.set(xlabel="x (m)", ylabel="y (m)", zlabel="z (m)")
    axis.tick_params(labelsize=7)
    axis.patch.set_visible(False)  # it would cover the labels of the panel beside it
    axis.zaxis.labelpad = -3
    axis.locator_params(nbins=5)
    axis.view_init(elev=22, azim=-60)


def _share_limits(axes: list[Axes3D], arrays: Mapping[str, np.ndarray], count: int) -> None:
    palms = [arrays[f"{i}_palm"] for i in range(count)]
    points = np.concatenate([*palms, arrays["demo_palms"], arrays["goal"][None]])
    low, high = np.nanmin(points, 0), np.nanmax(points, 0)
    for axis in axes:
        axis.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]), zlim=(low[2], high[2]))
        axis.set_box_aspect(high - low, zoom=1.1)  # pyright: ignore[reportArgumentType] (any number)
