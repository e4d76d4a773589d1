import io
import re

import pytest
from rich.console import Console

from nppac.utils import progress
from nppac.utils.progress import PLAIN_INTERVAL_SECONDS, progress_bar, silent, together


class Clock:
    """Time that passes when a test says so."""

    now = 1000.0

    def monotonic(self):
        return self.now


@pytest.fixture
def clock(monkeypatch):
    clock = Clock()
    monkeypatch.setattr(progress, "time", clock)
    return clock


def lines(capsys):
    out, err = capsys.readouterr()
    assert out == ""  # standard output is for results
    return err.splitlines()


def test_a_pipe_gets_plain_lines_with_an_estimate(clock, capsys):
    with progress_bar("Fitting [x]", 200) as advance:
        clock.now += 20
        advance(50, "KL [red]0.1[/red]")
    assert lines(capsys) == ["Fitting [x]: 50/200, 60 s left. KL [red]0.1[/red]"]


def test_work_that_may_end_early_has_a_bound(clock, capsys):
    with progress_bar("Fitting", 200, at_most=True) as advance:
        clock.now += 20
        advance(50)
    assert lines(capsys) == ["Fitting: 50/200, at most 60 s left."]


def test_lines_come_no_oftener_than_the_interval(clock, capsys):
    with progress_bar("Training", 1000) as advance:
        for done in range(1, 101):
            clock.now += PLAIN_INTERVAL_SECONDS / 20
            advance(done)
    shown = [int(re.match(r"Training: (\d+)/1000", line)[1]) for line in lines(capsys)]
    assert shown == [20, 40, 60, 80, 100]


def test_a_long_line_stays_one_line_without_escape_codes(clock, capsys):
    with progress_bar("Training", 10) as advance:
        clock.now += 60
        advance(1, "word " * 60)
    (line,) = lines(capsys)
    assert len(line) > 300
    assert "\x1b" not in line
    assert "\r" not in line


@pytest.mark.parametrize("done", [10, 11, 500])
def test_at_and_beyond_the_total_nothing_is_left(clock, capsys, done):
    with progress_bar("Fitting", 10) as advance:
        clock.now += 30
        advance(done)
    assert lines(capsys) == [f"Fitting: {done}/10, 0 s left."]


def test_what_was_done_before_does_not_count_as_fast(clock, capsys):
    """A run resumed at 900 of 1000 that takes 30 s for 10 steps needs 270 s for the other 90."""
    with progress_bar("Training", 1000, 900) as advance:
        clock.now += 15
        advance(900)  # nothing new, so nothing is known
        clock.now += 15
        advance(910)
    assert lines(capsys) == ["Training: 910/1000, 270 s left."]


@pytest.fixture
def terminal(monkeypatch):
    """What a terminal of some width shows, with its escape codes."""

    def of_width(width):
        screen = io.StringIO()
        console = Console(file=screen, force_terminal=True, width=width)
        monkeypatch.setattr(progress, "Console", lambda stderr: console)
        return screen

    return of_width


def test_a_terminal_gets_a_live_bar(terminal):
    screen = terminal(120)
    with progress_bar("Training", 100, 40) as advance:
        advance(60, "success 50%")
        advance(130, "success [90%]")
    assert "\x1b[" in screen.getvalue()
    assert "130/100" in screen.getvalue()
    assert "success [90%]" in screen.getvalue()


def test_a_narrow_terminal_cuts_the_status_and_no_number(terminal):
    screen = terminal(80)
    with progress_bar("Fitting the GP", 261) as advance:
        advance(180, "matern52, log likelihood 4.948 per point")
    last = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", screen.getvalue()).split("\r")[-1].rstrip("\n")
    assert "Fitting the GP" in last
    assert "180/261 0:00:00 left" in last
    assert "matern52" in last
    assert last.rstrip().endswith("…")
    assert "\n" not in last


def test_silence(capsys):
    silent(3, "anything")
    assert capsys.readouterr() == ("", "")


def test_parts_that_go_on_at_once_add_up():
    seen = []
    first, second = together(2, lambda done, status="": seen.append((done, status)))
    first(3, "a")
    second(2, "b")
    first(4)
    assert seen == [(3, "a"), (5, "b"), (6, "")]
