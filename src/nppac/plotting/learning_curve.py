"""Learning curves: evaluation, KL and gradient magnitude over training, one colour a method."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes

from nppac.plotting.style import line_style, save_figure

Metrics = Mapping[str, np.ndarray]


def draw_learning_curves(
    methods: Mapping[str, Sequence[Metrics]], path: str | Path, title: str
) -> None:
    """Three panels against environment steps; a thin line a run, a bold one a method's mean."""
    runs = [run for group in methods.values() for run in group]
    successes = any(np.isfinite(run["eval_success_any"]).any() for run in runs)
    panels = [
        ("eval_success_any", "success rate") if successes else ("eval_return_mean", "return"),
        ("kl", "KL to the reference"),
        ("policy_gradient", "mean |policy gradient|"),
    ]
    figure, axes = plt.subplots(1, 3, figsize=(11, 3.2), layout="constrained")
    for axis, (column, label) in zip(axes, panels, strict=True):
        for i, (method, group) in enumerate(methods.items()):
            style = line_style(i)
            _draw(axis, group, column, method, style["color"], style["linestyle"])
        axis.set(xlabel="environment steps", ylabel=label)
        axis.locator_params(axis="x", nbins=5)  # more of them run into one another
        axis.grid(alpha=0.3)
    if successes:
        axes[0].set_ylim(-0.02, 1.02)
    axes[2].set_yscale("log")
    if len(methods) > 1:
        axes[0].legend()
    figure.suptitle(title, parse_math=False)  # a directory's name may have dollars in it
    save_figure(figure, path)


def _draw(
    axis: Axes, runs: Sequence[Metrics], column: str, label: str, colour: str, dash: str
) -> None:
    curves = [_measured(run, column) for run in runs]
    if len(curves) > 1:
        for steps, values in curves:
            axis.plot(steps, values, color=colour, lw=0.7, alpha=0.5)
    shared = sorted(set.intersection(*(set(steps) for steps, _ in curves)))
    mean = [np.mean([values[steps == step][0] for steps, values in curves]) for step in shared]
    marker = "o" if len(shared) == 1 else ""  # one point makes no line
    axis.plot(shared, mean, dash, color=colour, lw=2.2, marker=marker, label=label)


def _measured(run: Metrics, column: str) -> tuple[np.ndarray, np.ndarray]:
    known = np.isfinite(run[column])
    return run["env_steps"][known], run[column][known]
