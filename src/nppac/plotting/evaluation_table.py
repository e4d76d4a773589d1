"""Every evaluation of several runs side by side, as a Markdown table for documents."""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from nppac.evaluation.compare import measure_column
from nppac.evaluation.curves import Metrics, measured
from nppac.evaluation.metrics import SUCCESS
from nppac.evaluation.statistics import Interval
from nppac.plotting.numbers import number_text

FRESH_ROWS = {
    "newest": "fresh episodes: newest policy",
    "policy": "fresh episodes: the run's policy",
    "reference": "fresh episodes: the reference's mean",
}
"""What a run judges at its end, and what its row is called."""
UNKNOWN = Interval(np.nan, np.nan, np.nan)


class Evaluated(NamedTuple):
    """One run: its seed, its metrics, and what it judged on fresh episodes at its end."""

    seed: str
    metrics: Metrics
    fresh: Mapping[str, Mapping[str, Interval]] = {}
    """For each policy, its measures."""


def evaluation_table(groups: Mapping[str, Sequence[Evaluated]]) -> str:
    """A row for each evaluation; for each group its runs by seed, and their mean.

    The last rows are the runs' judgements on fresh episodes, with 95 % intervals.
    """
    groups = {name: sorted(runs, key=_seed_order) for name, runs in groups.items()}
    column = measure_column([run.metrics for runs in groups.values() for run in runs])
    header = ["steps"]
    for name, runs in groups.items():
        header += [f"{name}: {_seeds(runs)}", "mean"]
    lines = [header, ["---"] * len(header)]
    for title, found in [*_evaluations(groups, column), *_judgements(groups, column)]:
        lines.append([title, *(cell for values in found for cell in _cells(values, column))])
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


_Row = tuple[str, list[list[Interval]]]
"""A title, and for each group the value of each run."""


def _evaluations(groups: Mapping[str, Sequence[Evaluated]], column: str) -> Iterator[_Row]:
    curves = [[_curve(run, column) for run in runs] for runs in groups.values()]
    for step in sorted({step for group in curves for curve in group for step in curve}):
        yield f"{step:,}", [[curve.get(step, UNKNOWN) for curve in group] for group in curves]


def _curve(run: Evaluated, column: str) -> dict[int, Interval]:
    steps, values = measured(run.metrics, column)
    found = [Interval(value, np.nan, np.nan) for value in values.tolist()]
    return dict(zip(steps.astype(int).tolist(), found, strict=True))


def _judgements(groups: Mapping[str, Sequence[Evaluated]], column: str) -> Iterator[_Row]:
    measure = "success_any" if column == SUCCESS else "return"
    shown: list[list[list[Interval]]] = []  # without tests the run's policy is the newest
    for policy, title in FRESH_ROWS.items():
        found = [
            [run.fresh.get(policy, {}).get(measure, UNKNOWN) for run in runs]
            for runs in groups.values()
        ]
        if found not in shown and any(v is not UNKNOWN for values in found for v in values):
            shown.append(found)
            yield title, found


def _cells(values: Sequence[Interval], column: str) -> list[str]:
    """The values of a group's runs in one cell, and their mean in the next if all are known."""
    mean = float(np.mean([value.estimate for value in values]))
    if all(np.isnan(value.estimate) for value in values):
        return ["", ""]
    return [", ".join(_text(value, column) for value in values), _number(mean, column)]


def _text(value: Interval, column: str) -> str:
    text = _number(value.estimate, column)
    if np.isnan(value.low):
        return text
    return f"{text} ({_number(value.low, column)} to {_number(value.high, column)})"


def _number(value: float, column: str) -> str:
    return f"{value:.0%}" if column == SUCCESS and np.isfinite(value) else number_text(value)


def _seeds(runs: Sequence[Evaluated]) -> str:
    return f"{'seed' if len(runs) == 1 else 'seeds'} {', '.join(run.seed for run in runs)}"


def _seed_order(run: Evaluated) -> tuple[int, str]:
    return len(run.seed), run.seed
