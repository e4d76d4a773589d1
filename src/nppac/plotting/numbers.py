"""Numbers and intervals as people write them, in tables of the terminal and of reports."""

import math

from nppac.evaluation.statistics import Interval, ThresholdSteps


def number_text(value: float) -> str:
    """A number in few digits: 10,650 rather than 1.065e+04."""
    if math.isnan(value):
        return "-"
    if math.isinf(value):
        return "never" if value > 0 else "-∞"
    if value == 0 or 1e-3 <= abs(value) < 1_000:
        return f"{value:.3g}"
    return f"{value:,.0f}" if 1_000 <= abs(value) < 1e9 else f"{value:.2e}"


def interval_text(interval: Interval) -> str:
    """An estimate and its interval, where it has one."""
    estimate = number_text(interval.estimate)
    if math.isnan(interval.low):
        return estimate
    return f"{estimate} [{number_text(interval.low)}, {number_text(interval.high)}]"


def steps_text(reached: ThresholdSteps) -> str:
    """The median of the steps to a threshold, and the share of runs that reached it if not all."""
    if reached.share == 0:
        return "never"
    share = "" if reached.share == 1 else f", reached by {reached.share:.0%}"
    return interval_text(reached.median) + share
