import math

import pytest

from nppac.evaluation.statistics import Interval, ThresholdSteps
from nppac.plotting.numbers import interval_text, number_text, steps_text

NAN = math.nan


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"),
        (0.98765, "0.988"),
        (10_650.4, "10,650"),
        (-202.9, "-203"),
        (1.2e-7, "1.20e-07"),
        (3e12, "3.00e+12"),
        (math.inf, "never"),
        (-math.inf, "-∞"),
        (NAN, "-"),
    ],
)
def test_numbers_have_few_digits(value, text):
    assert number_text(value) == text


def test_an_interval_stands_behind_its_estimate():
    assert interval_text(Interval(0.5, 0.25, 1.0)) == "0.5 [0.25, 1]"
    assert interval_text(Interval(0.5, NAN, NAN)) == "0.5"


def test_steps_to_a_threshold_say_who_reached_it():
    assert steps_text(ThresholdSteps(1.0, Interval(5e3, 2e3, 8e3))) == "5,000 [2,000, 8,000]"
    some = ThresholdSteps(2 / 3, Interval(5e3, 2e3, math.inf))
    assert steps_text(some) == "5,000 [2,000, never], reached by 67%"
    assert steps_text(ThresholdSteps(0.0, Interval(math.inf, NAN, NAN))) == "never"
