"""Which of the evaluated policies is tested."""

from dataclasses import replace

import numpy as np
import pytest

from nppac.evaluation.evaluate import Evaluation
from nppac.training import epoch
from nppac.training.contender import contending
from nppac.training.updates import greedy_policy
from toy_run import Watched, run
from toy_task import SCHEDULE


def after(*evaluations):
    """The contender after evaluations of policies, each of which is the number of its turn."""
    contender = None
    for turn, evaluation in enumerate(evaluations, start=1):
        contender = contending(contender, evaluation, np.float32(turn), 10 * turn)
    return contender


def returns(*values):
    return Evaluation(values, (1,) * len(values))


def successes(share):
    return Evaluation((0.0,) * 100, (1,) * 100, success_any=share, success_end=0.0)


def test_a_policy_that_fails_later_is_not_tested():
    """Means of 10, 12 and 5; the second has a standard error of 1."""
    found = after(returns(10.0, 10.0), returns(11.0, 13.0), returns(0.0, 10.0))
    assert (float(found.state), found.env_steps) == (2.0, 20)
    assert (found.best, found.margin) == (12.0, pytest.approx(1.0 / np.sqrt(2)))


def test_of_those_that_cannot_be_told_apart_the_newest_is_tested():
    """Within 0.707 of the best, 12: no policy may creep further down by small steps."""
    best = returns(11.0, 13.0)
    found = after(best, returns(11.6, 11.6), returns(11.0, 11.0))
    assert (float(found.state), found.env_steps) == (2.0, 20)
    assert found.best == 12.0
    assert float(after(best, returns(11.6, 11.6), returns(11.3, 11.3)).state) == 3.0


def test_successes_count_before_returns():
    """The standard error of 0.9 in 100 episodes is 0.03."""
    assert float(after(successes(0.9), successes(0.88)).state) == 2.0
    assert float(after(successes(0.9), successes(0.86)).state) == 1.0


def test_what_is_tested_is_a_copy():
    state = np.zeros(3)
    found = contending(None, returns(1.0), state, 10)
    state += 1.0
    np.testing.assert_array_equal(found.state, np.zeros(3))


@pytest.mark.parametrize(
    ("marks", "tested"), [([0.0, 5.0, 1.0, 2.0], 40), ([9.0, 1.0, 2.0, 3.0], 100)]
)
def test_a_run_tests_the_policy_that_it_evaluated_best_once_it_had_learned(
    tmp_path, monkeypatch, marks, tested
):
    """Evaluations at 0, 40, 80 and 100 steps; what it began with is no contender."""
    evaluations, states, challengers = iter(marks), {}, []

    def evaluated(problem, agent, schedule, seed, state):
        mark = next(evaluations)
        states[mark] = np.asarray(state.policy.trunk.weights[0]).copy()
        return Evaluation((mark, mark), (1, 1))

    def seen(agent, state, query):
        challengers.append(np.asarray(state.policy.trunk.weights[0]).copy())
        return greedy_policy(agent, state, query)

    monkeypatch.setattr("nppac.training.loop.evaluate_agent", evaluated)
    monkeypatch.setattr(epoch, "evaluate_agent", evaluated)
    monkeypatch.setattr("nppac.training.incumbent.greedy_policy", seen)
    schedule = replace(SCHEDULE, challenges=1, challenge_episodes=4)
    incumbent = run(tmp_path, schedule, reference=Watched()).incumbent
    assert incumbent.challenger_from == tested
    np.testing.assert_array_equal(challengers[0], states[max(marks[1:])])
    assert incumbent.contender is None  # the next test is for what is learned after this one
