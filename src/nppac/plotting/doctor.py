"""The doctor's figure: variance, KL and gradient against distance from the data; calibration."""

import textwrap
from pathlib import Path

from matplotlib.axes import Axes

from nppac.diagnostics import Diagnosis
from nppac.diagnostics.calibration import Calibration
from nppac.diagnostics.probes import WAYS
from nppac.plotting.style import line_style, panels_in_a_row, save_figure


def draw_diagnosis(diagnosis: Diagnosis, path: str | Path) -> None:
    """Four panels, the verdict above and the sentence behind it below."""
    assert diagnosis.on_data is not None
    assert diagnosis.calibration is not None
    limits, online = diagnosis.thresholds, diagnosis.online
    sentence = _sentence(diagnosis)
    below = 0.6 + 0.16 * len(sentence.splitlines())
    figure, axes = panels_in_a_row(4, (15, 4.3), above=0.65, below=below)
    _draw_profiles(axes[0], diagnosis, "variance", "predictive variance (action units²)")
    for name, points in diagnosis.profiles.items():
        axes[0].fill_between(
            [p.distance for p in points],
            [p.variance_low for p in points],
            [p.variance_high for p in points],
            color=line_style(list(WAYS).index(name))["color"],
            alpha=0.12,
            linewidth=0,
        )
    on = diagnosis.on_data.variance
    axes[0].axhline(on, color="black", lw=1, ls=(0, (1, 3)), label=f"on the data: {on:.2g}")
    axes[0].legend(fontsize=8, loc="best")
    axes[0].set_title("Variance: median, middle 80 %")
    _draw_profiles(axes[1], diagnosis, "kl", "KL(π ‖ π0) (nats)")
    axes[1].set_title(f"KL for π = N(μ0 + {online.shift:g}, {online.scale:g}²)")
    _draw_profiles(axes[2], diagnosis, "gradient", "‖∇ log π0‖ (1 / action unit)")
    _draw_limit(axes[2], limits.gradient)
    axes[2].set_title("Gradient of the same policy")
    for axis in axes[:3]:
        _span_a_decade(axis)
    _draw_calibration(axes[3], diagnosis.calibration)
    figure.suptitle(_title(diagnosis), fontsize=13, fontweight="bold", parse_math=False)
    figure.supxlabel(sentence, fontsize=9, parse_math=False)
    save_figure(figure, path)


def _draw_profiles(axis: Axes, diagnosis: Diagnosis, quantity: str, label: str) -> None:
    for name, points in diagnosis.profiles.items():
        x, y = [p.distance for p in points], [getattr(p, quantity) for p in points]
        if not any(value > 0 for value in y):
            continue  # a uniform reference has no gradient, and a logarithm no place for it
        style = line_style(list(WAYS).index(name))
        axis.plot(x, y, **style, ms=4, lw=1.6, label=WAYS[name])
    axis.set_xscale("symlog", linthresh=0.25, linscale=0.6)
    ticks = (0, 0.25, 0.5, 1, 2, 4, 8)
    axis.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    axis.set_xlim(-0.02, None)
    axis.minorticks_off()
    axis.set_yscale("log")
    axis.set(xlabel="distance from the data (std per dimension)", ylabel=label)
    axis.axvspan(diagnosis.thresholds.off_data, axis.get_xlim()[1], color="0.5", alpha=0.08, lw=0)
    axis.grid(alpha=0.3)


def _draw_limit(axis: Axes, limit: float) -> None:
    if not axis.lines:  # Matplotlib finds no good range for a single number
        axis.set_ylim(limit / 11, limit * 1.3)
    axis.axhline(limit, color="black", lw=1, ls=(0, (1, 3)))
    axis.annotate(
        f"exploding above {limit:g}",
        (0.98, limit),
        xycoords=("axes fraction", "data"),
        va="bottom",
        ha="right",
        fontsize=8,
    )


def _span_a_decade(axis: Axes) -> None:
    """At least a factor of 10 from bottom to top: a small change must not look like a large one."""
    low, high = axis.get_ylim()
    if high < 10.0 * low:
        middle = (low * high) ** 0.5
        axis.set_ylim(middle / 10**0.5, middle * 10**0.5)


def _draw_calibration(axis: Axes, calibration: Calibration) -> None:
    levels = [float(level.rstrip("%")) for level in calibration.coverage]
    shares = [100.0 * share for share in calibration.coverage.values()]
    axis.plot([0, 100], [0, 100], color="black", lw=1, ls=(0, (1, 3)), label="perfect")
    axis.plot(levels, shares, **line_style(0), ms=6, lw=1.6, label="this reference")
    for level, share in zip(levels, shares, strict=True):
        axis.annotate(
            f"{share:.1f} %",
            (level, share),
            (6, -10),
            textcoords="offset points",
            fontsize=8,
        )
    axis.set(
        xlabel="central interval (%)",
        ylabel="demonstrated actions inside it (%)",
        xlim=(0, 120),
        ylim=(0, 104),
    )
    which = "held-out" if calibration.held_out else "known"
    axis.set_title(f"Calibration: {calibration.episodes} {which} episodes")
    axis.legend(fontsize=8, loc="upper left")
    axis.grid(alpha=0.3)


def _title(diagnosis: Diagnosis) -> str:
    about = diagnosis.about
    name = Path(str(about.get("reference", "reference"))).name
    subject = f"{name} on {about.get('task', 'this task')}"
    return f"{subject}: {diagnosis.verdict}"


def _sentence(diagnosis: Diagnosis) -> str:
    return "\n".join(textwrap.wrap(" ".join((diagnosis.explanation, *diagnosis.notes)), 170))
