"""A chart as the places of its lines; the page's template writes them as SVG."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from nppac.evaluation.curves import Curve
from nppac.plotting.report.axes import Axis, Tick, axis_of, with_room

WIDTH, HEIGHT = 420, 270
LEFT, RIGHT, TOP, BOTTOM = 62, 16, 10, 44
LONGEST = 200
"""Points of a line; more cannot be told apart at this width."""

Line = tuple[np.ndarray, np.ndarray]
"""Steps and values of one run."""


class Trace(NamedTuple):
    """One group's paths: its centre, its band and all of its runs."""

    group: int
    centre: str
    band: str
    runs: str


@dataclass(frozen=True)
class Chart:
    """Everything that the template draws, and the numbers that its readout tells."""

    title: str
    x_label: str
    y_label: str
    x: Axis
    y: Axis
    traces: Sequence[Trace]
    curves: Sequence[Curve]
    extents: Sequence[Sequence[float]]
    """Least and greatest step and value of each trace, its runs included."""
    whole: tuple[float, float] | None = None
    origin: float | None = None

    @property
    def x_ticks(self) -> list[Tick]:
        """Ticks of the horizontal axis."""
        return self.x.ticks()

    @property
    def y_ticks(self) -> list[Tick]:
        """Ticks of the vertical axis."""
        return self.y.ticks()

    def readout(self) -> dict[str, object]:
        """The numbers under the pointer, for the page's script."""
        lines = {
            trace.group: [_digits(part) for part in (c.steps, c.centre, c.low, c.high)]
            for trace, c in zip(self.traces, self.curves, strict=True)
        }
        groups = [trace.group for trace in self.traces]
        return {
            "label": self.x_label,
            "x": [self.x.low, self.x.high],
            "y": [self.y.low, self.y.high],
            "log": self.y.log,
            "whole": self.whole,
            "origin": self.origin,
            "extents": dict(zip(groups, self.extents, strict=True)),
            "lines": lines,
        }


def draw_chart(
    title: str,
    labels: tuple[str, str],
    groups: Sequence[tuple[Curve, Sequence[Line]]],
    *,
    log: bool = False,
    whole: tuple[float, float] | None = None,
    origin: float | None = None,
) -> Chart | None:
    """A chart of each group's curve and runs; None where nothing was measured.

    `whole` is a range that the vertical axis shows in any case, `origin` a place that the
    horizontal one does.
    """
    shown = [(i, curve, lines) for i, (curve, lines) in enumerate(groups) if curve.runs]
    if not shown:
        return None
    values = [_joined(*curve[1:4], *(v for _, v in lines)) for _, curve, lines in shown]
    steps = [_joined(curve.steps, *(s for s, _ in lines)) for _, curve, lines in shown]
    x = axis_of(_joined(*steps, [] if origin is None else [origin]), LEFT, WIDTH - RIGHT)
    y = axis_of(_joined(*values, whole or ()), HEIGHT - BOTTOM, TOP, log=log)
    extents = [
        [*_extent(s), *_extent(v[v > 0] if y.log else v)]
        for s, v in zip(steps, values, strict=True)
    ]
    y = with_room(y)
    traces = [_trace(i, curve, lines, x, y) for i, curve, lines in shown]
    curves = [curve for _, curve, _ in shown]
    return Chart(title, *labels, x, y, traces, curves, extents, whole, origin)


def _joined(*parts: np.ndarray | Sequence[float]) -> np.ndarray:
    """All finite numbers of some arrays."""
    flat = np.concatenate([np.asarray(part, float) for part in parts])
    return flat[np.isfinite(flat)]


def _extent(values: np.ndarray) -> list[float]:
    """Least and greatest; nothing where there is no value."""
    return [float(values.min()), float(values.max())] if len(values) else []


def _trace(group: int, curve: Curve, lines: Sequence[Line], x: Axis, y: Axis) -> Trace:
    runs = "".join(_path(*thinned(*line), x, y) for line in lines) if len(lines) > 1 else ""
    return Trace(group, _path(curve.steps, curve.centre, x, y), _band(curve, x, y), runs)


def thinned(steps: np.ndarray, values: np.ndarray) -> Line:
    """A long line by the least and the greatest value of each stretch, so that no spike is lost."""
    if len(steps) <= LONGEST:
        return steps, values
    parts = np.array_split(np.arange(len(steps)), LONGEST // 2)
    kept = [sorted({p[values[p].argmin()], p[values[p].argmax()]}) for p in parts]
    chosen = np.concatenate(kept)
    return steps[chosen], values[chosen]


def _path(steps: np.ndarray, values: np.ndarray, x: Axis, y: Axis) -> str:
    """A path through all points that the axes have, with a gap at every other."""
    points, pen = [], "M"
    for across, up in zip(x.place(steps), y.place(values), strict=True):
        if np.isfinite(up):
            points.append(f"{pen}{across:.2f} {up:.2f}")
            pen = "L"
        else:
            pen = "M"
    return "".join(points) + ("h0" if len(points) == 1 else "")  # a dot, by its round ends


def _band(curve: Curve, x: Axis, y: Axis) -> str:
    low, high = y.place(curve.low), y.place(curve.high)
    known = np.isfinite(low) & np.isfinite(high)
    if known.sum() < 2:
        return ""
    across = x.place(curve.steps)[known]
    there = [f"{a:.2f} {b:.2f}" for a, b in zip(across, high[known], strict=True)]
    back = [f"{a:.2f} {b:.2f}" for a, b in zip(across[::-1], low[known][::-1], strict=True)]
    return "M" + "L".join(there + back) + "Z"


def _digits(values: np.ndarray) -> list[float | None]:
    """Numbers for JSON, which has no NaN."""
    return [float(f"{v:.4g}") if np.isfinite(v) else None for v in values.tolist()]
