import pytest

from nppac.plotting.report.records import find_runs, read_records
from nppac.utils.errors import UserError

from .runs import write_run


def test_runs_are_found_in_trees_and_counted_once(tmp_path):
    a, b = write_run(tmp_path / "x" / "a"), write_run(tmp_path / "x" / "deep" / "b")
    (tmp_path / "x" / "figures").mkdir()
    (tmp_path / "x" / "figures" / "config.json").write_text("{}")
    assert find_runs([tmp_path / "x", a, tmp_path / "x" / ".." / "x"]) == [a, b]
    assert find_runs([b]) == [b]


def test_directories_without_runs_are_named(tmp_path):
    with pytest.raises(UserError, match="there is none in "):
        find_runs([tmp_path])
    with pytest.raises(UserError, match="name some directories"):
        find_runs([])
    (tmp_path / "runs").mkdir()
    with pytest.raises(UserError, match=r"There is no directory .*runz\. Did you mean"):
        find_runs([tmp_path / "runz"])


def test_an_old_record_is_read_as_it_is(tmp_path):
    old = write_run(tmp_path / "a", method="of-old", agent={"smoothing": 0.5}, seed=3)
    ([record], left_out) = read_records([old])
    assert not left_out
    assert (record.method, record.seed, record.task) == ("of-old", "3", "door")
    assert record.config["agent"] == {"smoothing": 0.5}
    assert (record.command, record.commit) == ("nppac train --seed 3", "abc123")


def test_a_run_that_cannot_be_shown_is_left_out_with_its_reason(tmp_path):
    good = write_run(tmp_path / "good")
    empty, broken, odd = (write_run(tmp_path / name) for name in ("empty", "broken", "odd"))
    metrics = empty / "metrics.csv"
    metrics.write_text(metrics.read_text().splitlines(keepends=True)[0])
    (broken / "config.json").write_text("{")
    (odd / "config.json").write_text("[]")
    records, left_out = read_records([good, empty, broken, odd])
    assert [record.directory for record in records] == [good]
    reasons = "no evaluation yet", "cannot be read as JSON", "does not hold the configuration"
    assert all(r in text for r, text in zip(reasons, left_out.values(), strict=True))
    with pytest.raises(UserError, match=r"None of the 1 runs can be shown; .*broken: "):
        read_records([broken])


@pytest.mark.parametrize("config", ["{}", '{"provenance": 3, "agent": 7, "schedule": null}'])
def test_a_strange_configuration_is_no_reason_to_fail(tmp_path, config):
    run = write_run(tmp_path / "a")
    (run / "config.json").write_text(config)
    ([record], _) = read_records([run])
    assert record.command == "not recorded"
