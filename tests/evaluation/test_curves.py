import numpy as np
import pytest

from nppac.evaluation.curves import learning_curve, measured

NAN = np.nan


def run(steps, values):
    return {"env_steps": np.array(steps, float), "kl": np.array(values, float)}


def test_only_what_was_measured_counts():
    steps, values = measured(run([0, 1, 2], [NAN, 5, np.inf]), "kl")
    assert (steps.tolist(), values.tolist()) == ([1], [5])


def test_a_curve_lies_where_all_runs_were_measured():
    curve = learning_curve([run([0, 10, 20], [1, 2, 3]), run([0, 5, 10], [3, 9, 6])], "kl")
    assert curve.steps.tolist() == [0, 10]
    assert curve.centre.tolist() == [2, 4]
    assert curve.low.tolist() == [1, 2]
    assert curve.high.tolist() == [3, 6]
    assert curve.runs == 2


def test_a_run_that_measured_nothing_does_not_empty_the_curve():
    curve = learning_curve([run([0, 10], [1, 2]), run([0, 10], [NAN, NAN])], "kl")
    assert (curve.centre.tolist(), curve.runs) == ([1, 2], 1)
    assert learning_curve([run([0], [NAN])], "kl").runs == 0


def test_a_long_curve_is_thinned_with_both_of_its_ends():
    curve = learning_curve([run(range(1000), range(1000))], "kl", at_most=11)
    assert len(curve.steps) == 11
    assert (curve.steps[0], curve.steps[-1]) == (0, 999)
    assert curve.centre == pytest.approx(curve.steps)
