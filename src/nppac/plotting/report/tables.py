"""The tables of a report: how runs did, what set them apart, and which command made them."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from nppac.evaluation.compare import Standing, evaluation_summary, flat_settings
from nppac.evaluation.curves import Metrics
from nppac.evaluation.statistics import Interval, probability_of_improvement
from nppac.plotting.numbers import interval_text, number_text
from nppac.plotting.report.records import Record

MISSING = "not recorded"


class Cell(NamedTuple):
    """A cell's text, the number to sort it by, and whether it stands out."""

    text: str
    value: float | None = None
    unusual: bool = False

    @property
    def key(self) -> str:
        """The number as the page's script reads it; empty where there is none."""
        if self.value is None:
            return ""
        return "Infinity" if self.value == math.inf else repr(self.value)


@dataclass(frozen=True)
class Table:
    """Columns and rows; the first cell of a row names it."""

    caption: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Cell]]


def end_table(
    rows: Sequence[Standing], groups: Mapping[str, Sequence[Metrics]], measure: str, column: str
) -> Table:
    """Start, end and best of every group, and how likely it beats the one that ended best."""
    best = max(rows, key=lambda row: row.end.estimate).name
    ends = {name: np.array([evaluation_summary(g, column)[1]]).T for name, g in groups.items()}
    columns = ["method", "seeds", "steps", "at start", "at end", "best"]
    cells = [
        [Cell(row.name), _count(row.runs), _steps(row.steps)]
        + [_interval(interval) for interval in (row.start, row.end, row.best)]
        for row in rows
    ]
    if len(rows) > 1:
        columns.append("chance to beat the best")
        for row, line in zip(rows, cells, strict=True):
            chance = probability_of_improvement(ends[row.name], ends[best])
            line.append(Cell("is the best", 2.0) if row.name == best else _interval(chance))
    caption = f"Evaluations by {measure}: interquartile mean over seeds [95 % interval]."
    if len(rows) > 1:
        caption += f" “The best” is the one with the highest end, {best}."
    return Table(caption, columns, cells)


def threshold_table(rows: Sequence[Standing], levels: Sequence[float], measure: str) -> Table:
    """How many runs reached each threshold, and after how many steps."""
    texts = [number_text(level) for level in levels]
    columns = ["method", "seeds"]
    for text in texts:
        columns += [f"reached {text}", f"steps to {text}"]
    cells = []
    for row in rows:
        line = [Cell(row.name), _count(row.runs)]
        for share, median in row.reached:
            line += [Cell(f"{share:.0%}", share), _interval(median)]
        cells.append(line)
    caption = (
        f"Environment steps until an evaluation's {measure} is at least the threshold and stays so "
        "for three evaluations, or to the end: median over all seeds [95 % interval]; a seed that "
        "never does counts as infinite."
    )
    return Table(caption, columns, cells)


def settings_tables(records: Sequence[Record]) -> tuple[Table, Table]:
    """The settings in which runs differ, a row a run, and those that all of them share."""
    flat = [flat_settings(record.config) for record in records]
    names = list(dict.fromkeys(name for own in flat for name in own if name != "seed"))
    values = {name: Counter(own[name] for own in flat if name in own) for name in names}
    differing = [name for name in names if len(values[name]) > 1]
    shared = [name for name in names if len(values[name]) == 1]
    usual = {name: values[name].most_common(1)[0][0] for name in differing}
    rows = [
        [Cell(record.name), _text(record.seed)]
        + [_setting(own.get(name), usual[name]) for name in differing]
        for record, own in zip(records, flat, strict=True)
    ]
    caption = "Settings in which these runs differ; marked where most runs have another value."
    alike = [[Cell(name), _text(next(iter(values[name])))] for name in shared]
    return (
        Table(caption, ["run", "seed", *differing], rows),
        Table("Settings that all of these runs share.", ["setting", "value"], alike),
    )


def commands_table(records: Sequence[Record]) -> Table:
    """Which command made each run, of which version, and how long it took."""
    rows = []
    for record in records:
        steps, minutes = int(record.metrics["env_steps"][-1]), _minutes(record)
        time = Cell(number_text(minutes), None if math.isnan(minutes) else minutes)
        made = Cell(record.commit), Cell(record.command)
        rows.append([Cell(record.name), _steps((steps, steps)), time, *made])
    caption = "How every run was made."
    return Table(caption, ["run", "steps done", "minutes", "commit", "command"], rows)


def _minutes(record: Record) -> float:
    return float(record.metrics["wall_seconds"][-1]) / 60


def _interval(interval: Interval) -> Cell:
    known = not math.isnan(interval.estimate)
    return Cell(interval_text(interval), interval.estimate if known else None)


def _count(number: int) -> Cell:
    return Cell(str(number), float(number))


def _steps(span: tuple[int, int]) -> Cell:
    text = " to ".join(f"{steps:,}" for steps in sorted(set(span)))
    return Cell(text, float(span[1]))


def _setting(value: str | None, usual: str) -> Cell:
    return Cell(MISSING) if value is None else _text(value, unusual=value != usual)


def _text(value: str, *, unusual: bool = False) -> Cell:
    """A setting, sorted as a number where it is one."""
    try:
        number = float(value)
    except ValueError:
        return Cell(value, None, unusual)
    return Cell(value, number if math.isfinite(number) else None, unusual)
