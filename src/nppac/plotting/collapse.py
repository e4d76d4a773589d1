"""The variance off the data while a network is trained by maximum likelihood."""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from nppac.plotting.style import COLOURS, DASHES, save_figure
from nppac.utils.files import read_arrays


def draw_collapse(data: Path, picture: Path) -> None:
    """Mean over seeds of the logarithm, a band of one standard deviation, a thin line a seed."""
    arrays = read_arrays(data)
    epoch, curves = arrays["epoch"], np.log10(np.maximum(arrays["variance"], 1e-300))
    mean, spread = curves.mean(0), curves.std(0)
    figure, axis = plt.subplots(figsize=(6, 4), layout="constrained")
    for curve in curves:
        axis.plot(epoch, 10.0**curve, color="0.6", lw=0.6)
    label = f"mean of {len(curves)} seeds"
    axis.plot(epoch, 10.0**mean, color=COLOURS[0], linestyle=DASHES[0], lw=2, label=label)
    axis.fill_between(
        epoch,
        10.0 ** (mean - spread),
        10.0 ** (mean + spread),
        color=COLOURS[0],
        alpha=0.25,
        linewidth=0,
        label="± 1 standard deviation",
    )
    stop = float(np.median(arrays["best_epoch"]))
    axis.axvline(stop, color="black", lw=1, ls=(0, (1, 3)), label="best validation likelihood")
    axis.set_yscale("log")
    axis.set(
        xlabel="epoch of maximum-likelihood training",
        ylabel="mean predictive variance (action units²)",
        title=f"{arrays['task']}: {float(arrays['distance']):g} std per dimension off the data",
        xlim=(epoch[0], epoch[-1]),
    )
    axis.legend()
    axis.grid(alpha=0.3)
    save_figure(figure, picture)
