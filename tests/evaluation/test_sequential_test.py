import math

import numpy as np
import pytest
from scipy.special import logsumexp

from nppac.evaluation.sequential_test import STAKES, PairedTest, error_rate_of


def log_e_values(differences):
    """The evidence after each difference of a row: the formula, for many tests at once."""
    first = (differences != 0).argmax(axis=1)
    unit = np.abs(differences[np.arange(len(differences)), first])[:, None]
    bets = [np.logaddexp(0.0, -2.0 * stake * differences / unit) for stake in STAKES]
    wealths = np.stack([(math.log(2.0) - bet).cumsum(axis=1) for bet in bets])
    return logsumexp(wealths, axis=0) - math.log(len(STAKES))


def promotions(sample, repetitions, episodes, error_rate=0.05):
    """Share of repetitions in which the test rejects at any time within so many episodes."""
    evidence = log_e_values(np.stack([sample(episodes) for _ in range(repetitions)]))
    return (evidence >= -math.log(error_rate)).any(axis=1).mean()


def test_the_evidence_is_the_mean_wealth_by_hand():
    test = PairedTest().updated([1.0, 1.0, -1.0, 1.0, 0.0, 1.0])
    wealths = [(1 + math.tanh(stake)) ** 4 * (1 - math.tanh(stake)) for stake in STAKES]
    assert math.exp(test.log_e_value) == pytest.approx(sum(wealths) / len(wealths))
    assert (test.episodes, test.mean) == (6, 0.5)


def test_no_difference_is_too_large():
    wins, losses = (PairedTest(unit=1.0).updated([sign * 1e9] * 3) for sign in (1, -1))
    assert math.exp(wins.log_e_value) == pytest.approx(8.0)
    assert losses.log_e_value < -1e8


def test_before_any_difference_there_is_no_evidence():
    assert PairedTest().log_e_value == 0.0
    assert PairedTest().updated([0.0] * 50).log_e_value == 0.0
    assert not PairedTest().updated([0.0] * 50).is_better(0.05)


def test_the_unit_of_the_scores_does_not_matter():
    differences = np.random.default_rng(0).normal(1.0, 1.0, 30)
    one, other = (PairedTest().updated(scale * differences) for scale in (1.0, 1e4))
    assert one.log_e_value == pytest.approx(other.log_e_value)


def test_pairs_may_come_one_by_one_or_together():
    together = PairedTest().updated([2.0, -1.0, 3.0])
    assert PairedTest().updated([2.0]).updated([-1.0, 3.0]) == together


def gaussian(rng):
    return lambda n: 500.0 * rng.standard_normal(n)


def bimodal(rng):
    """Two equal policies that fall in 15 % of the episodes, each for itself."""

    def sample(n):
        returns = np.where(rng.random((2, n)) < 0.15, 100.0, 11_000.0)
        return returns[0] - returns[1] + rng.normal(0.0, 200.0, n)

    return sample


def successes(rng):
    return lambda n: (rng.random(n) < 0.7).astype(float) - (rng.random(n) < 0.7)


@pytest.mark.parametrize("equal", [gaussian, bimodal, successes])
def test_many_tests_at_once_are_those_that_are_made_episode_by_episode(equal):
    differences = np.abs(equal(np.random.default_rng(4))(40))[None]  # a better challenger
    for i, evidence in enumerate(log_e_values(differences)[0], start=1):
        test = PairedTest().updated(differences[0, :i].tolist())
        assert test.log_e_value == pytest.approx(evidence, rel=1e-9, abs=1e-12)
        assert test.is_better(0.05) == (evidence >= -math.log(0.05))
    assert not PairedTest().updated([1.0]).is_better(0.05)
    assert PairedTest().updated([1.0] * 40).is_better(0.05)


@pytest.mark.parametrize("equal", [gaussian, bimodal, successes])
def test_equal_policies_are_promoted_in_at_most_one_of_twenty_runs(equal):
    assert promotions(equal(np.random.default_rng(1)), 1_000, 200) <= 0.05


def test_a_worse_challenger_is_hardly_ever_promoted():
    rng = np.random.default_rng(2)

    def worse(n):
        return (rng.random(n) < 0.6).astype(float) - (rng.random(n) < 0.7)

    assert promotions(worse, 500, 200) <= 0.01


@pytest.mark.parametrize(("rates", "least"), [((0.95, 0.75), 0.95), ((0.85, 0.75), 0.3)])
def test_a_better_challenger_is_promoted(rates, least):
    rng = np.random.default_rng(3)

    def better(n):
        return (rng.random(n) < rates[0]).astype(float) - (rng.random(n) < rates[1])

    assert promotions(better, 200, 200) >= least


def test_falls_that_only_the_incumbent_has_are_seen_within_a_hundred_pairs():
    """One fall in twelve episodes, otherwise alike; the unit is the spread of returns."""
    rng = np.random.default_rng(5)

    def promoted():
        falls = np.where(rng.random(100) < 1 / 12, rng.uniform(500.0, 4_000.0, 100), 0.0)
        differences = falls + rng.normal(0.0, 40.0, 100)
        test = PairedTest(unit=600.0)
        return any((test := test.updated([d])).is_better(0.03) for d in differences)

    assert np.mean([promoted() for _ in range(100)]) > 0.7


def test_the_error_rates_of_all_challenges_amount_to_the_chosen_one():
    rates = [error_rate_of(k, 0.05) for k in range(1, 10_000)]
    assert rates[0] == pytest.approx(0.0304, abs=1e-4)
    assert sum(rates) == pytest.approx(0.05, rel=1e-4)
    assert sum(rates) <= 0.05


def test_a_score_that_is_not_finite_is_refused():
    with pytest.raises(ValueError, match="difference of scores is nan"):
        PairedTest().updated([math.nan])
