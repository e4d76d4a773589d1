import io

import pytest
from rich.console import Console

from nppac.sweeps.journal import note, read_journal
from nppac.sweeps.layout import SweepLayout
from nppac.sweeps.record import RunRecord, read_record
from nppac.sweeps.status import RunStatus, run_status
from nppac.sweeps.table import duration, seconds_left, showing, status_table, summary
from nppac.training.loop import append_row
from nppac.utils.errors import UserError
from nppac.utils.locks import directory_lock


def status(state="running", steps=500, rate=10.0, name="a", **more):
    facts = {"total": 1000, "score": "80%", "failures": 0, "reason": "", **more}
    return RunStatus(name=name, state=state, steps=steps, rate=rate, **facts)


def record(name="a"):
    return RunRecord(name, {"schedule": {"steps": 1000}}, "key")


def test_the_states_of_a_run_from_its_files_alone(tmp_path):
    def state(active=None):
        return run_status(tmp_path, record(), active).state

    directory = tmp_path / "a"
    assert state() == "waiting"
    assert state({"key"}) == "fitting"
    assert state({"a"}) == "waiting"  # in a queue
    note(SweepLayout(tmp_path).journal("a"), "started")
    assert state({"a"}) == "running"
    note(SweepLayout(tmp_path).journal("a"), "failed", "no\nreason")
    assert (state(), run_status(tmp_path, record()).reason) == ("failed", "no reason")
    note(SweepLayout(tmp_path).journal("a"), "started")
    with directory_lock(directory):
        (directory / "config.json").write_text("{}")
        assert state() == "running"
    assert state() == "stopped"
    (directory / "summary.json").write_text("{}")
    assert state() == "finished"


def test_progress_rate_and_result(tmp_path):
    metrics = tmp_path / "a" / "metrics.csv"
    for i in range(8):
        row = {"env_steps": 100 * i, "wall_seconds": 5.0 + 10 * i, "eval_return_mean": 3.5 * i}
        append_row(metrics, row)
    found = run_status(tmp_path, record(), {"a"})
    assert (found.steps, found.total, found.rate, found.score) == (700, 1000, 10.0, "24.5")
    assert found.seconds_left == 30.0
    append_row(metrics, {"env_steps": 800, "wall_seconds": 85.0, "eval_success_any": 0.75})
    assert run_status(tmp_path, record(), {"a"}).score == "75%"


def test_damaged_records_are_refused(tmp_path):
    with pytest.raises(UserError, match="is not the directory of a sweep"):
        read_record(tmp_path)
    plan = SweepLayout(tmp_path).plan
    plan.parent.mkdir()
    for text in ('{"version": 1, "runs": [{"name": "../a", "config": {}, "fit": null}]}', "[]"):
        plan.write_text(text)
        with pytest.raises(UserError, match="hold"):
            read_record(tmp_path)
    journal = SweepLayout(tmp_path).journal("a")
    journal.parent.mkdir()
    journal.write_text('{"what": "exploded"}\n')
    with pytest.raises(UserError, match="no event of a sweep"):
        read_journal(journal)
    journal.write_text('{"what": "star')
    assert read_journal(journal) == []


def test_the_time_left_is_divided_among_those_at_work():
    runs = [status(), status(), status("waiting", 0, None), status("finished", 1000)]
    assert seconds_left(runs) == (50 + 50 + 100) / 2
    assert summary(runs) == "4 runs: 1 finished, 1 waiting, 2 running; about 2 min left"
    assert seconds_left([status("waiting", 0, None)]) is None
    assert [duration(s) for s in (None, 45, 600, 9000)] == ["?", "45 s", "10 min", "2.5 h"]


def test_of_many_runs_those_at_work_are_shown():
    runs = [status("finished", name=f"f{i}") for i in range(50)] + [status(name="busy")]
    out = io.StringIO()
    Console(file=out, width=120).print(status_table(runs, rows=5))
    assert "busy" in out.getvalue()
    assert "and 46 more" in out.getvalue()


def test_a_pipe_gets_one_line_for_each_change(capsys):
    states = [[status("waiting", 0, None)], [status()], [status()], [status("finished", 1000)]]
    with showing(lambda active: states[0] if len(states) == 1 else states.pop(0)) as show:
        for _ in range(3):
            show(())
    lines = capsys.readouterr().err.splitlines()
    assert lines == [
        "a: running, 500/1,000 steps, 80%",
        "a: finished, 1,000/1,000 steps, 80%",
        "1 run: 1 finished",
    ]
