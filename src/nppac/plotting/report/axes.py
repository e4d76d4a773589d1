"""Axes of a chart: from numbers to places on the drawing, and where the ticks are."""

import math
from typing import NamedTuple

import numpy as np

from nppac.plotting.numbers import number_text

LOG_RATIO = 50
"""How many times the least positive value the greatest must be for a logarithmic axis."""


class Tick(NamedTuple):
    """A mark on an axis."""

    at: float
    text: str


class Axis(NamedTuple):
    """Values from `low` to `high`, drawn from `start` to `end`."""

    low: float
    high: float
    start: float
    end: float
    log: bool = False

    def place(self, values: np.ndarray) -> np.ndarray:
        """Where values are drawn; NaN for what a logarithmic axis does not have."""
        low, high = self.low, self.high
        if self.log:
            values = np.log10(np.where(values > 0, values, np.nan))
            low, high = math.log10(low), math.log10(high)
        share = (values - low) / (high - low)
        return self.start + share * (self.end - self.start)

    def ticks(self) -> list[Tick]:
        """About five round numbers within the axis."""
        numbers = decades(self.low, self.high) if self.log else round_numbers(self.low, self.high)
        places = self.place(np.array(numbers, float)).round(1).tolist()
        return [Tick(at, short_text(n)) for at, n in zip(places, numbers, strict=True)]


def axis_of(values: np.ndarray, start: float, end: float, *, log: bool = False) -> Axis:
    """An axis that holds all finite values; logarithmic only where most of them can be."""
    known = values[np.isfinite(values)]
    positive = known[known > 0]
    if log and len(positive) > 0.9 * len(known) and positive.max() > LOG_RATIO * positive.min():
        return Axis(float(positive.min()), float(positive.max()), start, end, log=True)
    low, high = (float(known.min()), float(known.max())) if len(known) else (0.0, 1.0)
    if high - low <= 1e-12 * max(abs(low), abs(high), 1e-300):
        room = abs(low) / 10 or 0.5
        low, high = low - room, high + room
    return Axis(low, high, start, end)


def with_room(axis: Axis, share: float = 0.03) -> Axis:
    """The axis a little longer at both ends, so that no line lies on its edge."""
    if axis.log:
        factor = (axis.high / axis.low) ** share
        return axis._replace(low=axis.low / factor, high=axis.high * factor)
    more = share * (axis.high - axis.low)
    return axis._replace(low=axis.low - more, high=axis.high + more)


def round_numbers(low: float, high: float, about: int = 5) -> list[float]:
    """Multiples of 1, 2 or 5 times a power of ten."""
    rough = (high - low) / about
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(s * power for s in (1, 2, 5, 10) if s * power >= rough * 0.999)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [k * step for k in range(first, last + 1)]


def decades(low: float, high: float, at_most: int = 6) -> list[float]:
    """Powers of ten, every one or every so many; where there is hardly one, also 2 and 5 times."""
    first, last = math.ceil(math.log10(low) - 1e-9), math.floor(math.log10(high) + 1e-9)
    if last - first < 1:
        between = (s * 10.0**k for k in range(first - 1, last + 1) for s in (1, 2, 5))
        return [v for v in between if low * (1 - 1e-9) <= v <= high * (1 + 1e-9)]
    every = max(1, math.ceil((last - first + 1) / at_most))
    return [10.0**k for k in range(first, last + 1, every)]


def short_text(value: float) -> str:
    """A tick's number: 50k rather than 50,000."""
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if size <= abs(value) < 1e12:
            return f"{value / size:.4g}{letter}"
    return f"{value:.0e}" if 0 < abs(value) < 1e-3 else number_text(float(f"{value:.6g}"))
