"""Where runs ended: a row for each method or setting, a dot for each run, a bar for their mean."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from nppac.evaluation.compare import evaluation_measure, evaluation_summary
from nppac.plotting.style import COLOURS, save_figure

Metrics = Mapping[str, np.ndarray]


def draw_ends(groups: Mapping[str, Sequence[Metrics]], path: str | Path, title: str) -> None:
    """The last evaluation of every run; grey lines show where the first row began and ended."""
    measure = evaluation_measure([run for runs in groups.values() for run in runs])
    ends = {name: evaluation_summary(runs)[1] for name, runs in groups.items()}
    began, ended, _ = evaluation_summary(next(iter(groups.values())))
    figure, axis = plt.subplots(figsize=(8, 1.2 + 0.28 * len(groups)), layout="constrained")
    axis.axvline(float(np.mean(began)), color="0.6", ls=":")
    axis.axvline(float(np.mean(ended)), color="0.6", ls="--")
    for row, values in enumerate(ends.values()):
        axis.plot(values, [row] * len(values), "o", color=COLOURS[0], alpha=0.5, ms=5)
        axis.plot([np.mean(values)], [row], "|", color=COLOURS[0], ms=15, mew=2.5)
    axis.set_yticks(range(len(ends)), list(ends), parse_math=False)
    axis.set_ylim(len(ends) - 0.5, -0.5)  # the first row on top
    # Under the whole figure: below the axis alone, long names of rows would push it off the edge.
    label = f"{measure}, last evaluation (dotted: the first row's before the first step)"
    figure.supxlabel(label, fontsize="medium")
    axis.grid(axis="x", alpha=0.3)
    axis.set_title(title, parse_math=False)
    save_figure(figure, path)
