import math

import numpy as np
import pytest
from scipy.stats import mannwhitneyu, trim_mean

from nppac.evaluation.statistics import (
    Interval,
    bootstrap_interval,
    interquartile_mean,
    mean_interval,
    median_steps,
    performance_profile,
    probability_of_improvement,
    sample_efficiency,
    share_interval,
    steps_to_threshold,
)

INF = math.inf


def test_interquartile_mean_drops_a_quarter_at_both_ends():
    eight = np.array([8.0, 1.0, 7.0, 2.0, 600.0, 3.0, 5.0, 4.0])  # keeps 3, 4, 5, 7
    assert interquartile_mean(eight) == 4.75
    assert interquartile_mean(np.array([0.0, 0.0, 30.0])) == 10.0  # nothing to drop of three
    rows = np.random.default_rng(0).normal(size=(5, 13))
    assert interquartile_mean(rows) == pytest.approx(trim_mean(rows, 0.25, axis=1))


def test_the_interval_of_two_runs_spans_both():
    # The mean of two draws from {0, 1} is 0, ½, 1 with probabilities ¼, ½, ¼.
    assert bootstrap_interval(np.array([[0.0], [1.0]])) == Interval(0.5, 0.0, 1.0)
    narrow = bootstrap_interval(np.array([[0.0], [1.0]]), confidence=0.4)
    assert narrow == Interval(0.5, 0.5, 0.5)


def test_each_task_is_resampled_by_itself():
    # Both runs agree within every task, so no resample can differ from the data.
    scores = np.array([[1.0, 5.0], [1.0, 5.0]])
    assert bootstrap_interval(scores) == Interval(3.0, 3.0, 3.0)
    # Within tasks {0, 2} and {4, 6}: the mean of all lies in 2 to 4 and reaches both ends.
    crossed = bootstrap_interval(np.array([[0.0, 4.0], [2.0, 6.0]]), confidence=0.999)
    assert crossed == Interval(3.0, 2.0, 4.0)


def test_the_same_seed_gives_the_same_interval_whatever_else_was_drawn():
    scores = np.random.default_rng(1).normal(size=(9, 3))
    first = bootstrap_interval(scores, seed=5)
    np.random.default_rng(5).normal(size=100)
    assert bootstrap_interval(scores, seed=5) == first
    assert bootstrap_interval(scores, seed=6) != first


def test_the_interval_covers_the_truth_as_often_as_it_says():
    generator = np.random.default_rng(2)
    inside = 0
    for seed in range(300):
        _, low, high = bootstrap_interval(generator.normal(size=(20, 1)), seed=seed, resamples=400)
        inside += low <= 0 <= high
    assert 0.86 < inside / 300 < 0.98  # the percentile bootstrap is a little narrow for few runs


def test_one_run_has_no_interval():
    estimate, low, high = bootstrap_interval(np.array([[3.0]]))
    assert (estimate, math.isnan(low), math.isnan(high)) == (3.0, True, True)
    band = sample_efficiency(np.array([[1.0, 2.0]]))
    assert band.centre.tolist() == [1.0, 2.0]
    assert np.isnan([band.low, band.high]).all()


def test_a_sample_efficiency_curve_has_an_interval_at_every_evaluation():
    band = sample_efficiency(np.array([[0.0, 2.0, 7.0], [1.0, 4.0, 7.0]]))
    assert band.centre.tolist() == [0.5, 3.0, 7.0]
    assert band.low.tolist() == [0.0, 2.0, 7.0]
    assert band.high.tolist() == [1.0, 4.0, 7.0]
    median = sample_efficiency(np.array([[1.0], [2.0], [9.0]]), lambda v: np.median(v, axis=-1))
    assert median.centre.tolist() == [2.0]


def test_a_performance_profile_is_the_share_of_runs_above():
    scores = np.array([[0.1, 0.9], [0.5, 0.5]])
    profile = performance_profile(scores, np.array([0.0, 0.4, 0.5, 0.9]))
    assert profile.centre.tolist() == [1.0, 0.75, 0.25, 0.0]
    assert profile.low.tolist() == [1.0, 0.5, 0.0, 0.0]  # task 1: 0, ½ or 1; task 2: always 1
    assert profile.high.tolist() == [1.0, 1.0, 0.5, 0.0]
    assert np.isnan(performance_profile(scores[:1], np.array([0.5])).low).all()


def test_probability_of_improvement_counts_pairs():
    ours, theirs = np.array([[1.0], [3.0]]), np.array([[0.0], [1.0], [2.0]])
    # 1 beats 0, ties with 1, loses to 2; 3 beats all.
    assert probability_of_improvement(ours, theirs).estimate == pytest.approx(4.5 / 6)
    u = mannwhitneyu(ours[:, 0], theirs[:, 0]).statistic
    assert probability_of_improvement(ours, theirs).estimate == pytest.approx(u / 6)
    assert probability_of_improvement(ours, ours).estimate == 0.5
    sure = probability_of_improvement(ours + 10, theirs)
    assert (sure.estimate, sure.low, sure.high) == (1.0, pytest.approx(1.0), pytest.approx(1.0))
    alone = probability_of_improvement(ours[:1], theirs[:1])
    assert alone.estimate == 1.0
    assert math.isnan(alone.low)


def test_probability_of_improvement_weighs_tasks_alike():
    ours, theirs = np.array([[1.0, 0.0]]), np.array([[0.0, 1.0], [0.0, 1.0]])
    assert probability_of_improvement(ours, theirs) == (0.5, 0.5, 0.5)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([0, 1, 1, 1, 0], 10),
        ([1, 0, 1, 1, 1], 20),  # the first crossing does not hold
        ([0, 1, 1, 0, 0], INF),
        ([0, 0, 0, 1, 1], 30),  # to the end, where only two remain
        ([0, 0, 0, 0, 1], 40),
        ([1, 1, 1, 0, 0], 0),
        ([0, 0, 0, 0, 0], INF),
    ],
)
def test_a_threshold_is_reached_where_it_is_held_for_three_evaluations(values, expected):
    steps = np.arange(5) * 10.0
    assert steps_to_threshold(steps, np.array(values, float), 1.0) == expected


def test_short_curves_can_reach_a_threshold():
    assert steps_to_threshold(np.array([7.0]), np.array([1.0]), 0.5) == 7
    assert steps_to_threshold(np.zeros(0), np.zeros(0), 0.5) == INF


def test_runs_that_never_reach_a_threshold_count_as_infinite():
    share, median = median_steps(np.array([10.0, 20.0, INF]))
    assert share == pytest.approx(2 / 3)
    assert median == Interval(20.0, 10.0, INF)
    assert median_steps(np.full(3, INF)) == (0.0, Interval(INF, INF, INF))
    assert median_steps(np.array([10.0, INF])).median.estimate == INF  # half is no majority
    assert math.isnan(median_steps(np.array([10.0])).median.low)


def test_the_interval_of_a_share_is_wilsons():
    # 8 of 10: (0.8 + z²/20 ± z √(0.16/10 + z²/400)) / (1 + z²/10), z = 1.959964.
    assert share_interval(0.8, 10) == pytest.approx((0.8, 0.49016, 0.94332), abs=1e-5)
    assert share_interval(1.0, 100).high == 1.0
    assert share_interval(1.0, 100).low == pytest.approx(0.96300, abs=1e-4)


def test_the_interval_of_a_mean_covers_its_episodes():
    assert mean_interval(np.array([0.0, 1.0])) == Interval(0.5, 0.0, 1.0)
