"""The picture that a run ends with: evaluation, KL and gradient magnitude over training."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import matplotlib
import numpy as np

from nppac.files import write_atomically

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from matplotlib.axes import Axes

Metrics = Mapping[str, np.ndarray]
COLOUR = "#1f4e9c"


def draw_learning_curve(runs: Sequence[Metrics], path: str | Path, title: str) -> None:
    """Three panels against environment steps; a thin line per run and the mean in bold."""
    successes = any(np.isfinite(run["eval_success_any"]).any() for run in runs)
    panels = [
        ("eval_success_any", "success rate") if successes else ("eval_return_mean", "return"),
        ("kl", "KL to the reference"),
        ("policy_gradient", "mean |policy gradient|"),
    ]
    figure, axes = plt.subplots(1, 3, figsize=(11, 3.2), layout="constrained")
    for axis, (column, label) in zip(axes, panels, strict=True):
        _draw(axis, runs, column)
        axis.set(xlabel="environment steps", ylabel=label)
        axis.grid(alpha=0.3)
    if successes:
        axes[0].set_ylim(-0.02, 1.02)
    axes[2].set_yscale("log")
    figure.suptitle(title)
    write_atomically(path, lambda file: figure.savefig(file, dpi=120, format="png"))
    plt.close(figure)


def _draw(axis: Axes, runs: Sequence[Metrics], column: str) -> None:
    curves = [_measured(run, column) for run in runs]
    for steps, values in curves:
        axis.plot(steps, values, color=COLOUR, lw=1.8 if len(curves) == 1 else 0.7, alpha=0.8)
    same = len({tuple(steps) for steps, _ in curves}) == 1
    if len(curves) > 1 and same:
        axis.plot(curves[0][0], np.mean([v for _, v in curves], axis=0), color=COLOUR, lw=2.2)


def _measured(run: Metrics, column: str) -> tuple[np.ndarray, np.ndarray]:
    known = np.isfinite(run[column])
    return run["env_steps"][known], run[column][known]
