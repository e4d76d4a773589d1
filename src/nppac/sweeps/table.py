"""Sweeps on the screen: one live table on a terminal, plain lines in a pipe."""

import time
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager

from rich.console import Console
from rich.live import Live
from rich.table import Table
from rich.text import Text

from nppac.sweeps.status import RunStatus

Read = Callable[[Collection[str]], Sequence[RunStatus]]
"""The states of the runs, given what workers are at."""
LIVE_SECONDS, PLAIN_SECONDS = 1.0, 30.0
STYLES = {"running": "cyan", "fitting": "cyan", "finished": "green", "failed": "red"}
FIRST = ("running", "fitting", "failed", "stopped", "waiting", "finished")
"""Which runs are shown where not all fit on the screen."""


def status_table(runs: Sequence[RunStatus], rows: int | None = None) -> Table:
    """State, progress, rate, result and time left of each run; of many, those at work first."""
    shown = list(runs)
    if rows is not None and len(runs) > rows:
        shown = sorted(runs, key=lambda run: FIRST.index(run.state))[: max(rows, 1)]
    table = Table("run", "state", "progress", "steps/s", "result", "left", caption=summary(runs))
    for run in shown:
        state = run.state + (f" ({run.failures} failed)" if run.failures else "")
        done = f"{run.steps:,}/{run.total:,} {run.steps / max(run.total, 1):4.0%}"
        rate = "" if run.rate is None else f"{run.rate:.3g}"
        left = "" if run.state == "finished" else duration(run.seconds_left)
        style = STYLES.get(run.state, "")
        table.add_row(Text(run.name), Text(state, style), done, rate, run.score, left)
    for column in table.columns[2:]:
        column.justify = "right"
        column.no_wrap = True
    if len(shown) < len(runs):
        table.add_row(Text(f"and {len(runs) - len(shown)} more"))
    return table


def summary(runs: Sequence[RunStatus]) -> str:
    """How many runs are in which state, and the time that is left."""
    counts = Counter(run.state for run in runs)
    words = [f"{counts[state]} {state}" for state in reversed(FIRST) if counts[state]]
    left = seconds_left(runs)
    unknown = left is None and counts["finished"] < len(runs)
    tail = "" if unknown or not left else f"; about {duration(left)} left"
    return f"{len(runs)} run{'' if len(runs) == 1 else 's'}: {', '.join(words)}{tail}"


def seconds_left(runs: Sequence[RunStatus]) -> float | None:
    """Work that is left divided among the runs that are at work; None while no rate is known."""
    rates = [run.rate for run in runs if run.rate]
    working = sum(run.state == "running" for run in runs)
    if not rates or not working:
        return None
    usual = sorted(rates)[len(rates) // 2]
    given_up = ("finished", "failed")
    todo = [(r.total - r.steps) / (r.rate or usual) for r in runs if r.state not in given_up]
    return max(sum(todo) / working, max(todo, default=0.0))


def duration(seconds: float | None) -> str:
    """A time as people say it: 45 s, 12 min, 3.5 h."""
    if seconds is None:
        return "?"
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5_400 else f"{seconds / 3_600:.1f} h"


@contextmanager
def showing(read: Read) -> Iterator[Callable[[Collection[str]], None]]:
    """Yield a function that shows the states anew, however often it is called."""
    console = Console(stderr=True)
    show = _live if console.is_terminal else _plain
    with show(console, read) as update:
        yield update


@contextmanager
def _live(console: Console, read: Read) -> Iterator[Callable[[Collection[str]], None]]:
    with Live(console=console, auto_refresh=False) as live:
        last = 0.0

        def update(active: Collection[str]) -> None:
            nonlocal last
            if time.monotonic() - last >= LIVE_SECONDS:
                live.update(status_table(read(active), max(console.height - 7, 3)), refresh=True)
                last = time.monotonic()

        try:
            yield update
        finally:
            last = 0.0
            update(())


@contextmanager
def _plain(console: Console, read: Read) -> Iterator[Callable[[Collection[str]], None]]:
    before: dict[str, RunStatus] = {}
    last = time.monotonic()

    def say(text: str) -> None:
        console.print(text, highlight=False, markup=False, soft_wrap=True)

    def update(active: Collection[str], final: bool = False) -> None:
        nonlocal last
        runs = read(active)
        for run in runs:
            known = before.get(run.name)
            if (known.state if known else "waiting") != run.state != "waiting":
                say(line(run))
            elif known and run.failures > known.failures:
                say(f"{run.name}: failed {run.failures} times: {run.reason}")
            before[run.name] = run
        if final or time.monotonic() - last >= PLAIN_SECONDS:
            last = time.monotonic()
            say(summary(runs))

    try:
        yield update
    finally:
        update((), final=True)


def line(run: RunStatus) -> str:
    """A change of a run's state in one line."""
    done = f", {run.steps:,}/{run.total:,} steps" if run.steps else ""
    score = f", {run.score}" if run.score else ""
    reason = f": {run.reason}" if run.state == "failed" else ""
    return f"{run.name}: {run.state}{done}{score}{reason}"
