"""Where runs ended: a row for each method or setting, a dot for each run, their interval."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import matplotlib.pyplot as plt

from nppac.evaluation.compare import evaluation_measure, evaluation_summary, standings
from nppac.evaluation.curves import Metrics
from nppac.plotting.style import COLOURS, save_figure, seeds_label


def draw_ends(groups: Mapping[str, Sequence[Metrics]], path: str | Path, title: str) -> None:
    """The last evaluation of every run, its interquartile mean and the mean's 95 % interval.

    Grey lines show where the first row began and ended.
    """
    measure = evaluation_measure([run for runs in groups.values() for run in runs])
    rows = standings(groups)
    figure, axis = plt.subplots(figsize=(8, 1.2 + 0.28 * len(groups)), layout="constrained")
    axis.axvline(rows[0].start.estimate, color="0.6", ls=":")
    axis.axvline(rows[0].end.estimate, color="0.6", ls="--")
    for i, (row, runs) in enumerate(zip(rows, groups.values(), strict=True)):
        values = evaluation_summary(runs)[1]
        axis.plot(values, [i] * len(values), "o", color=COLOURS[0], alpha=0.5, ms=5)
        axis.plot([row.end.low, row.end.high], [i, i], "-", color=COLOURS[0], lw=1.5)
        axis.plot([row.end.estimate], [i], "|", color=COLOURS[0], ms=15, mew=2.5)
    names = [seeds_label(row.name, row.runs) for row in rows]
    axis.set_yticks(range(len(rows)), names, parse_math=False)
    axis.set_ylim(len(rows) - 0.5, -0.5)  # the first row on top
    # Under the whole figure: below the axis alone, long names of rows would push it off the edge.
    label = f"{measure}, last evaluation (dotted: the first row's before the first step)"
    figure.supxlabel(label, fontsize="medium")
    axis.grid(axis="x", alpha=0.3)
    axis.set_title(title, parse_math=False)
    save_figure(figure, path)
