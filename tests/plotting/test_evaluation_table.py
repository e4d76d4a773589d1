import numpy as np

from nppac.evaluation.statistics import Interval
from nppac.plotting.evaluation_table import Evaluated, evaluation_table

NAN = float("nan")


def run(seed, values, success=None, fresh=None):
    """A run that was evaluated every 10 steps."""
    nothing = [NAN] * len(values)
    metrics = {
        "env_steps": 10.0 * np.arange(len(values)),
        "eval_return_mean": np.array(values),
        "eval_success_any": np.array(nothing if success is None else success),
    }
    return Evaluated(seed, metrics, fresh or {})


def test_each_evaluation_has_a_row_and_each_group_its_seeds_and_their_mean():
    groups = {"nppac": [run("1", [3.0, 5.0]), run("0", [1.0, 4.0])], "sac": [run("0", [0.0, 2.0])]}
    assert evaluation_table(groups).splitlines() == [
        "| steps | nppac: seeds 0, 1 | mean | sac: seed 0 | mean |",
        "| --- | --- | --- | --- | --- |",
        "| 0 | 1, 3 | 2 | 0 | 0 |",
        "| 10 | 4, 5 | 4.5 | 2 | 2 |",
    ]


def test_a_mean_is_only_given_where_every_run_was_evaluated():
    groups = {"nppac": [run("0", [1.0, 1500.0]), run("1", [3.0])], "sac": [run("0", [2.0, NAN])]}
    assert evaluation_table(groups).splitlines()[-1] == "| 10 | 1,500, - | - |  |  |"


def test_fresh_episodes_stand_below_with_their_intervals():
    newest = {"return": Interval(2000.0, 1900.0, 2100.0)}
    judged = {"newest": newest, "policy": newest, "reference": {}}
    rows = evaluation_table({"nppac": [run("0", [1.0], fresh=judged)], "sac": [run("0", [2.0])]})
    last = "| fresh episodes: newest policy | 2,000 (1,900 to 2,100) | 2,000 |  |  |"
    assert rows.splitlines()[3:] == [last]


def test_tasks_with_success_show_its_share():
    judged = {"newest": {"success_any": Interval(0.5, 0.4, 0.6), "return": Interval(9, 9, 9)}}
    rows = evaluation_table({"nppac": [run("0", [1.0, 2.0], [0.25, 0.5], judged)]}).splitlines()
    assert rows[2:] == [
        "| 0 | 25% | 25% |",
        "| 10 | 50% | 50% |",
        "| fresh episodes: newest policy | 50% (40% to 60%) | 50% |",
    ]


def test_seeds_are_in_the_order_of_their_numbers():
    runs = [run("10", [1.0]), run("2", [2.0])]
    assert evaluation_table({"a": runs}).splitlines()[0] == "| steps | a: seeds 2, 10 | mean |"
