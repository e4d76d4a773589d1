"""Progress of anything over two seconds: a live bar on a terminal, plain lines in a pipe."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock
from typing import Protocol, runtime_checkable

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    Task,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.table import Column
from rich.text import Text

PLAIN_INTERVAL_SECONDS = 10.0


@runtime_checkable
class Advance(Protocol):
    """Report that `done` of the total is finished, with a short status text."""

    def __call__(self, done: int, status: str = "") -> None:
        """Show it."""


def silent(done: int, status: str = "") -> None:
    """The progress that shows nothing."""


def after(offset: int, advance: Advance, what: str = "") -> Advance:
    """The progress of a part that begins when `offset` of the whole is done; `what` names it."""
    return lambda done, status="": advance(offset + done, " ".join(filter(None, (what, status))))


def together(count: int, advance: Advance) -> list[Advance]:
    """The progress of parts that go on at once, in threads: what is done is the sum of theirs."""
    counts, lock = [0] * count, Lock()

    def part(i: int) -> Advance:
        def show(done: int, status: str = "") -> None:
            with lock:
                counts[i] = done
                advance(sum(counts), status)

        return show

    return [part(i) for i in range(count)]


@contextmanager
def progress_bar(
    description: str, total: int, done: int = 0, *, at_most: bool = False
) -> Iterator[Advance]:
    """Yield a function `advance(done, status)` that shows how far `description` has come.

    What was `done` before counts for nothing in the estimate of the time that is left. `at_most`
    says that the work may be done before the total is reached.
    """
    console = Console(stderr=True)
    show = _live_bar if console.is_terminal else _plain_lines
    with show(console, description, total, done, "at most " if at_most else "") as advance:
        yield advance


@contextmanager
def _live_bar(
    console: Console, description: str, total: int, done: int, bound: str
) -> Iterator[Advance]:
    # On a narrow terminal the bar and the status give way, never a number.
    columns = (
        TextColumn("{task.description}"),
        BarColumn(bar_width=24),
        MofNCompleteColumn(table_column=Column(no_wrap=True)),
        TimeElapsedColumn(table_column=Column(no_wrap=True)),
        TextColumn(f"{bound}left"),
        TimeRemainingColumn(table_column=Column(no_wrap=True)),
        _StatusColumn(),
    )
    with Progress(*columns, console=console) as bar:
        task = bar.add_task(description, total=total, completed=done, status="")
        yield lambda done, status="": bar.update(task, completed=done, status=status)


class _StatusColumn(ProgressColumn):
    """The status as it is, on one line, cut where the terminal ends."""

    def render(self, task: Task) -> Text:
        return Text(task.fields["status"], no_wrap=True, overflow="ellipsis")


@contextmanager
def _plain_lines(
    console: Console, description: str, total: int, before: int, bound: str
) -> Iterator[Advance]:
    start = last = time.monotonic()

    def advance(done: int, status: str = "") -> None:
        nonlocal last
        now = time.monotonic()
        if now - last < PLAIN_INTERVAL_SECONDS or done <= before:
            return
        last = now
        left = (now - start) / (done - before) * max(total - done, 0)
        console.print(
            f"{description}: {done}/{total}, {bound}{left:.0f} s left. {status}".rstrip(),
            highlight=False,
            markup=False,
            soft_wrap=True,
        )

    yield advance
