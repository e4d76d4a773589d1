import numpy as np
import pytest

from nppac.evaluation.curves import episode_band, learning_curve, measured

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


def evaluations(**columns):
    return {name: np.array(values, float) for name, values in columns.items()}


def test_one_runs_band_is_that_of_its_episodes():
    run = evaluations(
        eval_return_mean=[10, NAN, 20],
        eval_return_std=[5, NAN, 0],
        eval_success_any=[0.8, NAN, 1.0],
        eval_episodes=[25, NAN, 100],
    )
    returns = episode_band(run, "eval_return_mean")
    assert returns.centre.tolist() == [10, 20]
    assert returns.low == pytest.approx([10 - 1.959964, 20])  # 1.96 standard errors of 5 / √25
    assert returns.high == pytest.approx([10 + 1.959964, 20])
    share = episode_band(run, "eval_success_any")
    assert share.low == pytest.approx([0.60869, 0.96300], abs=1e-4)  # Wilson's
    assert share.high[-1] == 1.0


def test_a_column_without_episodes_has_no_band():
    assert episode_band(evaluations(eval_return_mean=[1], eval_return_std=[1]), "kl") is None
    run = evaluations(eval_return_mean=[1], eval_return_std=[1])
    assert episode_band(run, "eval_return_mean") is None  # an older record
    run |= evaluations(eval_episodes=[NAN])
    assert episode_band(run, "eval_return_mean").centre.shape == (0,)
