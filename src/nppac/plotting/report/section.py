"""What a report says about one task: its groups of runs, their charts and their tables."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from nppac.evaluation.compare import (
    MEASURES,
    Standing,
    default_threshold,
    evaluation_summary,
    group_runs,
    measure_column,
    standings,
)
from nppac.evaluation.curves import Curve, Metrics, learning_curve, measured
from nppac.evaluation.metrics import RETURN, SUCCESS
from nppac.evaluation.statistics import performance_profile
from nppac.plotting.report.chart import LONGEST, Chart, draw_chart
from nppac.plotting.report.records import Record
from nppac.plotting.report.tables import (
    Table,
    commands_table,
    end_table,
    settings_tables,
    threshold_table,
)

STEPS = "environment steps"
TRACES = {
    "kl": ("KL to the reference", "KL"),
    "policy_gradient": ("Policy gradient", "mean |policy gradient|"),
    "reference_scale": ("Reference's scale at visited states", "scale σ₀"),
}
"""Columns that make the pathology visible: their titles and the labels of their axes."""
CURVE_RESAMPLES = 1_000
MANY_RUNS = 30
PROFILE_RUNS = 3
"""Runs that some group must have for a profile to say more than the table."""


@dataclass(frozen=True)
class Group:
    """Runs of one kind in a legend."""

    name: str
    method: str
    label: str
    shown: bool
    runs: int


@dataclass(frozen=True)
class Section:
    """One task's part of the report."""

    task: str
    measure: str
    runs: int
    groups: Sequence[Group]
    charts: Sequence[Chart]
    unmeasured: Sequence[str]
    ends: Table
    thresholds: Table
    differences: Table
    shared: Table
    commands: Table

    @property
    def calm(self) -> bool:
        """Whether single runs are hidden at first, because there are too many of one kind."""
        return any(group.runs > MANY_RUNS for group in self.groups)


def task_section(records: Sequence[Record], threshold: float | None, most_shown: int) -> Section:
    """The part of the report about runs of one task; the `most_shown` best groups are visible."""
    found = {record.directory: record for record in records}
    kinds = group_runs({record.directory: record.config for record in records})
    column = measure_column([record.metrics for record in records])
    metrics = {name: [found[run].metrics for run in runs] for name, runs in kinds.items()}
    levels = [threshold] if threshold is not None else _levels(metrics)
    rows = _ordered(standings(metrics, levels), most_shown)
    members = {row.name: [found[run] for run in kinds[row.name]] for row in rows}
    metrics = {name: metrics[name] for name in members}
    charts, unmeasured = task_charts(list(metrics.values()), column)
    differences, shared = settings_tables(records)
    return Section(
        task=records[0].task,
        measure=MEASURES[column],
        runs=len(records),
        groups=_legend(members, most_shown),
        charts=charts,
        unmeasured=unmeasured,
        ends=end_table(rows, metrics, MEASURES[column], column),
        thresholds=threshold_table(rows, levels, MEASURES[column]),
        differences=differences,
        shared=shared,
        commands=commands_table(records),
    )


def _ordered(rows: Sequence[Standing], most_shown: int) -> list[Standing]:
    """First those to show, which have the most runs or the best end; each part best first."""
    rows = sorted(rows, key=lambda row: (-row.runs, -row.end.estimate))
    parts = rows[:most_shown], rows[most_shown:]
    return [row for part in parts for row in sorted(part, key=lambda row: -row.end.estimate)]


def _levels(groups: Mapping[str, Sequence[Metrics]]) -> list[float]:
    return [default_threshold(groups, share) for share in (0.5, 0.9)]


def _legend(members: Mapping[str, Sequence[Record]], most_shown: int) -> list[Group]:
    groups = []
    for i, (name, records) in enumerate(members.items()):
        runs, seeds = len(records), len({record.seed for record in records})
        count = f"{seeds} seed{'' if seeds == 1 else 's'}"
        label = f"{name} ({count})" if runs == seeds else f"{name} ({runs} runs of {count})"
        groups.append(Group(name, records[0].method, label, i < most_shown, runs))
    return groups


def task_charts(groups: Sequence[Sequence[Metrics]], column: str) -> tuple[list[Chart], list[str]]:
    """Evaluations, the traces beside them and the profile of ends; titles of what is not known."""
    charts = [_curves(groups, RETURN, "Return", "return")]
    if column == SUCCESS:
        charts.insert(0, _curves(groups, SUCCESS, "Success", "success rate", whole=(0.0, 1.0)))
    unmeasured = []
    for name, (title, label) in TRACES.items():
        chart = _curves(groups, name, title, label, log=True)
        charts.append(chart)
        unmeasured += [] if chart else [title]
    if max(len(runs) for runs in groups) >= PROFILE_RUNS:
        charts.append(_profile(groups, column))
    return [chart for chart in charts if chart is not None], unmeasured


def _curves(
    groups: Sequence[Sequence[Metrics]],
    column: str,
    title: str,
    label: str,
    *,
    log: bool = False,
    whole: tuple[float, float] | None = None,
) -> Chart | None:
    drawn = [
        (
            learning_curve(runs, column, at_most=LONGEST, resamples=CURVE_RESAMPLES),
            [line for line in (measured(run, column) for run in runs) if len(line[0])],
        )
        for runs in groups
    ]
    return draw_chart(title, (STEPS, label), drawn, log=log, whole=whole, origin=0.0)


def _profile(groups: Sequence[Sequence[Metrics]], column: str) -> Chart | None:
    """Share of runs whose last evaluation is above each level."""
    ends = [np.array([evaluation_summary(runs, column)[1]]).T for runs in groups]
    every = np.concatenate(ends)
    low, high = float(every.min()), float(every.max())
    levels = np.linspace(low - 0.02 * (high - low), high, 61)
    curves = [Curve(levels, *performance_profile(end, levels), runs=len(end)) for end in ends]
    labels = (f"{MEASURES[column]} at the end", "share of runs above")
    drawn = [(curve, ()) for curve in curves]
    return draw_chart("Performance profile", labels, drawn, whole=(0.0, 1.0))
