import json

import pytest

from nppac.training.summary import load_fresh
from nppac.utils.errors import UserError


def write_summary(directory, summary):
    (directory / "summary.json").write_text(json.dumps(summary))


def test_measures_on_fresh_episodes_are_read_by_policy(tmp_path):
    write_summary(tmp_path, {"fresh": {"episodes": 100, "newest": {"return": [2.0, 1.0, 3.0]}}})
    assert load_fresh(tmp_path) == {"newest": {"return": (2.0, 1.0, 3.0)}}


@pytest.mark.parametrize("fresh", [None, 3, [], {"newest": {"return": [1.0, "x", 2.0]}}])
def test_what_is_no_measure_is_passed_over(tmp_path, fresh):
    write_summary(tmp_path, {"fresh": fresh})
    assert not any(load_fresh(tmp_path).values())


def test_a_run_that_has_not_ended_has_judged_nothing(tmp_path):
    assert load_fresh(tmp_path) == {}


def test_a_summary_that_is_no_object_is_refused(tmp_path):
    (tmp_path / "summary.json").write_text("[1]")
    with pytest.raises(UserError, match=r"summary.json must hold a JSON object"):
        load_fresh(tmp_path)
