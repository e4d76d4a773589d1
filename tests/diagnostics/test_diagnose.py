import json
import re

import numpy as np
import pytest

from nppac.diagnostics import diagnose_reference
from nppac.references import UniformReference
from nppac.types import ReferenceStats

from .samples import ACTION_DIM, Known, evidence


def growing(d):
    return 0.1 * (1 + d)


def shrinking(d):
    return 0.5 / (1 + d)


@pytest.mark.parametrize(
    ("reference", "verdict", "code"),
    [
        (Known(growing), "healthy", 0),
        (Known(growing, "laplace"), "healthy", 0),
        (Known(lambda d: 0.1 + 0 * d), "flat", 3),
        (UniformReference(ACTION_DIM), "flat", 3),
        (Known(shrinking), "collapses", 4),
        (Known(lambda d: 0.1 * np.exp(-2 * d)), "exploding", 5),
        (Known(lambda d: 1e-3 + 0 * d), "exploding", 5),
        (Known(lambda d: np.where(d > 5, np.nan, 1.0)), "broken", 6),
    ],
)
def test_verdicts_on_references_that_are_known(reference, verdict, code):
    diagnosis = diagnose_reference(reference, evidence())
    assert (diagnosis.verdict, diagnosis.exit_code) == (verdict, code)
    assert json.loads(json.dumps(diagnosis.as_dict()))["verdict"] == verdict


def test_numbers_of_a_constant_reference():
    diagnosis = diagnose_reference(Known(lambda d: 0.1 + 0 * d), evidence())
    assert diagnosis.on_data.variance == pytest.approx(0.01, rel=1e-6)
    for points in diagnosis.profiles.values():
        assert [p.distance for p in points] == [0.0, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0]
        for point in points:
            assert point.kl == pytest.approx(2 * 2.806853, rel=1e-5)
            assert point.gradient == pytest.approx(28.28427 * 2**0.5, rel=1e-5)
    assert diagnosis.off_data["random"].ratio == pytest.approx(1.0)
    assert diagnosis.off_data["random"].share_below == 0.0


def test_rollouts_are_judged_where_they_leave_the_data():
    far = np.random.default_rng(0).normal(6.0, 1.0, (50, 3)).astype(np.float32)
    diagnosis = diagnose_reference(Known(shrinking), evidence(far))
    assert diagnosis.off_data["rollout"].states == 50
    assert diagnosis.off_data["rollout"].ratio < 0.5
    near = diagnose_reference(Known(shrinking), evidence(evidence().obs[:10]))
    assert "rollout" not in near.off_data
    assert "only 0 of 10 states" in near.notes[0]


class Answers(Known):
    def __init__(self, answer):
        self.answer, self.family = answer, "normal"

    def __call__(self, obs):
        return self.answer(len(obs))


def zeros(n, d=ACTION_DIM):
    return np.zeros((n, d))


def fails(n):
    raise RuntimeError("no weights")


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (
            lambda n: ReferenceStats(zeros(n) + np.nan, zeros(n) + 1),
            "loc that is not finite at 80 of 80 .*first nan at row 0, action 0",
        ),
        (
            lambda n: ReferenceStats(zeros(n), zeros(n) + np.inf),
            "scale that is not finite.*first inf",
        ),
        (lambda n: ReferenceStats(zeros(n), zeros(n) - 2), "scale that is not positive.*first -2"),
        (lambda n: ReferenceStats(zeros(n), zeros(n)), "scale that is not positive.*first 0"),
        (
            lambda n: ReferenceStats(zeros(n, 3), zeros(n, 3) + 1),
            r"loc \(80, 3\) and scale \(80, 3\); both must be \(80, 2\)",
        ),
        (lambda n: zeros(n), "on the demonstrations, it answered with ndarray"),
        (fails, "RuntimeError: no weights"),
    ],
)
def test_a_broken_reference_is_named(answer, words):
    diagnosis = diagnose_reference(Answers(answer), evidence())
    assert diagnosis.verdict == "broken"
    assert re.search(words, diagnosis.explanation)


def test_an_unknown_family_is_named():
    diagnosis = diagnose_reference(Known(growing, "cauchy"), evidence())
    assert diagnosis.verdict == "broken"
    assert "cauchy" in diagnosis.explanation


def test_a_reference_on_its_variance_floor_gets_a_note():
    (note,) = diagnose_reference(Known(lambda d: np.maximum(0.1, 0.02 * d)), evidence()).notes
    assert "100% of the variances on the data are 0.01" in note
    assert not diagnose_reference(Known(growing), evidence()).notes
    assert not diagnose_reference(UniformReference(ACTION_DIM), evidence()).notes


def test_a_reference_that_is_narrow_on_the_data_and_grows_off_it():
    narrow = Known(lambda d: 0.01 * np.maximum(1.0, d / 2.5) ** 2)
    assert diagnose_reference(narrow, evidence()).verdict == "narrow"
