import pytest

from nppac.diagnostics.verdict import EXIT_CODES, OffData, Thresholds, judge

LIMITS = Thresholds()


def way(ratio=5.0, tightest=5.0, variance=0.1, gradient=10.0):
    return OffData(100, variance, ratio, tightest, 0.0, 1.0, gradient)


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
    assert judge(ways, LIMITS)[0] == verdict


def test_the_sentence_has_the_numbers():
    _, sentence = judge({"random": way(12.0, 13.0), "rollout": way(3.8)}, LIMITS)
    assert "12 (random) and 3.8 (rollout) times" in sentence
    assert "5 (random) times" in judge({"random": way()}, LIMITS)[1]


def test_every_verdict_has_its_own_exit_code():
    assert EXIT_CODES["healthy"] == 0
    assert len(set(EXIT_CODES.values())) == len(EXIT_CODES)
    assert not {1, 2} & set(EXIT_CODES.values())
