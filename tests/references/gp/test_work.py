import itertools

import pytest

from nppac.references import GPConfig
from nppac.references.gp.config import WORK
from nppac.references.gp.work import Stage, direct_progress, iterative_progress, stages


@pytest.fixture(autouse=True)
def two_threads(monkeypatch):
    monkeypatch.setattr("nppac.references.gp.work.thread_count", lambda: 2)


@pytest.mark.parametrize("n", [2, 900, 5_000, 15_000, 100_000])
@pytest.mark.parametrize("kernel", ["auto", "rbf"])
def test_the_parts_follow_each_other_and_are_the_whole(n, kernel):
    parts = stages(GPConfig(kernel=kernel, fit_points=2000), n)
    assert parts[0].start == 0
    assert parts[-1].end == WORK
    for before, after in itertools.pairwise(parts):
        assert before.end == after.start
    assert (parts.trials.steps > 0) == (kernel == "auto")
    assert (parts.fine.steps > 0) == (n > 1000)


def test_shares_are_those_of_the_work():
    # Seconds: 4 * 40 trial steps of 0.09 on two threads, 100 of 0.44, 10 of 3.24, conditioning.
    parts = stages(GPConfig(kernel="auto", fit_points=2000), 15_000)
    seconds = [7.2, 44.0, 32.4, 1.75e-11 * 15_000**3 / 2]
    for part, cost in zip(parts, seconds, strict=True):
        assert part.end - part.start == pytest.approx(WORK * cost / sum(seconds), abs=1)


def test_a_part_counts_its_steps_within_the_whole():
    seen = []
    stage = Stage(100, 300, 40)
    show = stage.within(lambda done, status="": seen.append((done, status)))
    for done in (0, 10, 40, 50):
        show(done, "x")
    assert seen == [(100, "x"), (150, "x"), (300, "x"), (300, "x")]


def test_solutions_tell_their_share():
    seen = []

    def advance(done, status=""):
        seen.append(done)

    direct = direct_progress(2, advance)
    for group in (0, 1):
        direct(group, 1.0)
    iterative = iterative_progress(advance)
    for done in (10, 400):
        iterative(done)
    assert seen == [300, 800, 250, WORK]
