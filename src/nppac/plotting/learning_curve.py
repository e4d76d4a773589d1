"""Learning curves: evaluation, KL and gradient magnitude over training, one colour a method."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from textwrap import fill

import numpy as np
from matplotlib.axes import Axes

from nppac.evaluation.compare import measure_column
from nppac.evaluation.curves import Curve, Metrics, episode_band, learning_curve, measured
from nppac.evaluation.metrics import SUCCESS
from nppac.plotting.style import line_style, panels_in_a_row, save_figure, seeds_label

HANDED_OUT = "handed out"
LEGEND_WIDTH = 32
"""Letters in a line of the legend: more do not fit into a panel."""
SMALLEST_KL_SHOWN = 0.01
"""The KL axis reaches this high at least, so that a policy that stays put looks as if it did."""


def draw_learning_curves(
    methods: Mapping[str, Sequence[Metrics]], path: str | Path, title: str
) -> None:
    """Three panels against environment steps.

    A bold line is a method's interquartile mean, its band the 95 % interval over runs, a thin line
    a run. The band of a method with one run is the interval over the episodes of each evaluation. A
    circle marks the policy that a single run hands out.
    """
    runs = [run for group in methods.values() for run in group]
    column = measure_column(runs)
    panels = [
        (column, "success rate" if column == SUCCESS else "return"),
        ("kl", "KL to the reference"),
        ("policy_gradient", "mean |policy gradient|"),
    ]
    figure, axes = panels_in_a_row(3, (11, 3.2), above=0.42, below=0.55)
    for axis, (shown, label) in zip(axes, panels, strict=True):
        for i, (method, group) in enumerate(methods.items()):
            style = line_style(i)
            _draw(axis, group, shown, method, style["color"], style["linestyle"])
        axis.set(xlabel="environment steps", ylabel=label)
        axis.locator_params(axis="x", nbins=5)  # more of them run into one another
        axis.grid(alpha=0.3)
    if column == SUCCESS:
        axes[0].set_ylim(-0.02, 1.02)
    axes[1].set_ylim(min(0.0, axes[1].get_ylim()[0]), max(SMALLEST_KL_SHOWN, axes[1].get_ylim()[1]))
    axes[2].set_yscale("log")
    if len(runs) == 1:
        _mark_incumbent(axes[0], runs[0], column)
    if len(runs) > 1 or HANDED_OUT in axes[0].get_legend_handles_labels()[1]:
        axes[0].legend(fontsize="small")
    figure.suptitle(title, parse_math=False)  # a directory's name may have dollars in it
    save_figure(figure, path)


def _mark_incumbent(axis: Axes, run: Metrics, column: str) -> None:
    """A circle where the run's policy was evaluated, unless it is the reference's mean."""
    chosen = run["incumbent_from"][-1] if "incumbent_from" in run else 0.0
    steps, values = measured(run, column)
    if chosen > 0 and chosen in steps:
        value = values[steps == chosen][0]
        axis.plot(chosen, value, "o", ms=9, mfc="none", color="black", label=HANDED_OUT)


def _draw(
    axis: Axes, runs: Sequence[Metrics], column: str, name: str, colour: str, dash: str
) -> None:
    curve = learning_curve(runs, column)
    if curve.runs > 1:
        for run in runs:
            axis.plot(*measured(run, column), color=colour, lw=0.7, alpha=0.4)
    elif len(runs) == 1 and (band := episode_band(runs[0], column)) is not None:
        curve = Curve(curve.steps, *band, runs=1)
    if np.isfinite(curve.low).any():
        axis.fill_between(curve.steps, curve.low, curve.high, color=colour, alpha=0.2, lw=0)
    marker = "o" if len(curve.steps) == 1 else ""  # one point makes no line
    plain = name.replace("$", r"\$")  # in a legend dollars would begin a formula
    label = fill(seeds_label(plain, curve.runs or len(runs)), LEGEND_WIDTH)
    axis.plot(curve.steps, curve.centre, dash, color=colour, lw=2.2, marker=marker, label=label)
