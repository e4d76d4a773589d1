import json

import pytest

from nppac.training.summary import load_fresh
from nppac.utils.errors import UserError

STEPS = 1_000


def write_summary(directory, summary):
    summary = {"env_steps": STEPS, **summary}
    (directory / "summary.json").write_text(json.dumps(summary))


def test_measures_on_fresh_episodes_are_read_by_policy(tmp_path):
    write_summary(tmp_path, {"fresh": {"episodes": 100, "newest": {"return": [2.0, 1.0, 3.0]}}})
    assert load_fresh(tmp_path, STEPS) == {"newest": {"return": (2.0, 1.0, 3.0)}}


@pytest.mark.parametrize(
    "fresh",
    [None, 3, [], {"newest": {"return": [1.0, "x", 2.0]}}, {"newest": {"return": [True, 0, 1]}}],
)
def test_what_is_no_measure_is_passed_over(tmp_path, fresh):
    write_summary(tmp_path, {"fresh": fresh})
    assert not any(load_fresh(tmp_path, STEPS).values())


def test_large_whole_numbers_are_measures_too(tmp_path):
    write_summary(tmp_path, {"fresh": {"newest": {"return": [10**20, 1, 2]}}})
    measure = load_fresh(tmp_path, STEPS)["newest"]["return"]
    assert measure == (1e20, 1.0, 2.0)
    assert all(isinstance(number, float) for number in measure)


def test_a_run_that_was_extended_since_then_has_judged_another_policy(tmp_path):
    write_summary(tmp_path, {"fresh": {"newest": {"return": [2.0, 1.0, 3.0]}}})
    assert load_fresh(tmp_path, 2 * STEPS) == {}


def test_a_run_that_has_not_ended_has_judged_nothing(tmp_path):
    assert load_fresh(tmp_path, STEPS) == {}


def test_a_summary_that_is_no_object_is_refused(tmp_path):
    (tmp_path / "summary.json").write_text("[1]")
    with pytest.raises(UserError, match=r"summary.json must hold a JSON object"):
        load_fresh(tmp_path, STEPS)
