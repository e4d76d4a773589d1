from dataclasses import replace

import pytest

from nppac.diagnostics.profile import Point
from nppac.diagnostics.verdict import EXIT_CODES, Dip, OffData, Thresholds, deepest, judge

LIMITS = Thresholds()
LEVEL = {"random": Dip(0.5, 1.0)}


ON = Point(0.0, 9, 0.02, 0.02, 0.02, 0.02, 1.0, 10.0)


def way(ratio=5.0, harmonic_mean_variance=5.0, variance=0.1, gradient=10.0):
    return OffData(100, variance, ratio, harmonic_mean_variance, 0.0, 1.0, gradient)


@pytest.mark.parametrize(
    ("ways", "verdict"),
    [
        ({"random": way(), "rollout": way(2.0)}, "healthy"),
        ({"random": way(), "rollout": way(1.9)}, "flat"),
        ({"random": way(1.0, 1.0)}, "flat"),
        ({"random": way(9.0), "principal": way(0.9)}, "collapses"),
        ({"random": way(9.0, 0.5)}, "collapses"),  # one dimension is enough
        ({"random": way(0.1, gradient=1001.0)}, "exploding"),
        ({"random": way(3.0, variance=9e-5)}, "exploding"),
    ],
)
def test_the_worst_way_decides(ways, verdict):
    assert judge(ON, ways, LIMITS, LEVEL)[0] == verdict


def point(distance, variance, harmonic_mean_variance=None):
    return Point(
        distance, 9, variance, variance, variance, harmonic_mean_variance or variance, 1.0, 1.0
    )


def test_a_dip_near_the_data_is_not_hidden_by_growth_beyond():
    on, far = point(0.0, 0.01), [point(1.0, 0.02), point(8.0, 1.0)]
    for near, harmonic_mean_variance, verdict in (
        (0.003, 0.003, "collapses"),
        (0.02, 0.009, "collapses"),
        (0.01, 0.01, "healthy"),
    ):
        dip = deepest(
            on, [on, point(0.25, 0.001), point(0.5, near, harmonic_mean_variance), *far], LIMITS
        )
        assert dip == (0.5, pytest.approx(min(near, harmonic_mean_variance) / 0.01))
        said, sentence = judge(
            on, {"random": way()}, LIMITS, {"principal": Dip(4.0, 0.99), "random": dip}
        )
        assert said == verdict
        assert ("0.5 standard deviations off the data (random)" in sentence) == (
            verdict == "collapses"
        )


def test_the_sentence_has_the_numbers():
    _, sentence = judge(ON, {"random": way(12.0, 13.0), "rollout": way(3.8)}, LIMITS, LEVEL)
    assert "12 (random) and 3.8 (rollout) times" in sentence
    assert "5 (random) times" in judge(ON, {"random": way()}, LIMITS, LEVEL)[1]


def test_every_verdict_has_its_own_exit_code():
    assert EXIT_CODES["healthy"] == 0
    assert len(set(EXIT_CODES.values())) == len(EXIT_CODES)
    assert not {1, 2} & set(EXIT_CODES.values())


@pytest.mark.parametrize("on", [replace(ON, gradient=1001.0), replace(ON, variance=9e-5)])
def test_too_narrow_on_the_data_is_a_verdict_of_its_own(on):
    verdict, sentence = judge(on, {"random": way()}, LIMITS, LEVEL)
    assert (verdict, EXIT_CODES[verdict]) == ("narrow", 7)
    assert "On the data itself" in sentence
    assert "raise the noise floor" in sentence
    assert judge(on, {"random": way(gradient=1001.0)}, LIMITS, LEVEL)[0] == "exploding"
