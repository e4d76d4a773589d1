"""Proposition 1: gradient magnitude against the reference's variance, on logarithmic axes."""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from nppac.plotting.style import line_style, save_figure

LABELS = {"normal": "Gaussian", "laplace": "Laplace"}


def draw_proposition(data: Path, picture: Path) -> None:
    """The formula as a line and automatic differentiation as points, for both densities."""
    table = np.genfromtxt(data, delimiter=",", names=True)
    variance = table["variance"]
    figure, axis = plt.subplots(figsize=(6, 4.2), layout="constrained")
    for i, (name, label) in enumerate(LABELS.items()):
        style = line_style(i)
        marker = style.pop("marker")
        formula, autodiff = table[f"{name}_formula"], table[f"{name}_autodiff"]
        power = np.polyfit(0.5 * np.log(variance), np.log(autodiff), 1)[0]
        axis.plot(
            variance, formula, **style, lw=1.8, label=f"{label}, formula: slope {power:.3f} in σ0"
        )
        axis.plot(
            variance[::2],
            autodiff[::2],
            linestyle="none",
            marker=marker,
            color=style["color"],
            mfc="white",
            ms=6,
            label=f"{label}, automatic differentiation",
        )
    axis.set_xscale("log")
    axis.set_yscale("log")
    axis.set(
        xlabel="variance of the reference, σ0² (action units²)",
        ylabel="|∂ log π0(a|s) / ∂a| (1 / action unit)",
        title="Gradient at |a - μ0| = 0.2",
    )
    axis.legend(fontsize=9)
    axis.grid(alpha=0.3, which="both")
    save_figure(figure, picture)
