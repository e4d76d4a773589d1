import json

import numpy as np
import pytest

from nppac.comparison import evaluation_summary, group_by_method
from nppac.errors import UserError
from nppac.run_config import RunConfig, to_json


def test_runs_are_grouped_by_method(tmp_path):
    for name, method, task in (("a", "nppac", "door"), ("b", "sac", "door"), ("c", "nppac", "pen")):
        (tmp_path / name).mkdir()
        config = to_json(RunConfig(task=task, method=method))
        (tmp_path / name / "config.json").write_text(json.dumps(config))
    a, b, c = (tmp_path / name for name in "abc")
    assert group_by_method([a, b, a]) == {"nppac": [a, a], "sac": [b]}
    with pytest.raises(UserError, match=r"one task; these are of \['door', 'pen'\]"):
        group_by_method([a, c])


def test_first_last_and_best_of_the_measure_that_the_task_has():
    nan = np.nan
    successes = {"eval_success_any": np.array([0, nan, 1, 0.5])}
    returns = {"eval_success_any": np.full(3, nan), "eval_return_mean": np.array([-3.0, nan, -1.0])}
    assert evaluation_summary([successes]) == ([0.0], [0.5], [1.0])
    assert evaluation_summary([returns]) == ([-3.0], [-1.0], [-1.0])
