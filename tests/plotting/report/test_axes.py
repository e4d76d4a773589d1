import numpy as np
import pytest

from nppac.plotting.report.axes import axis_of, decades, round_numbers, short_text, with_room


def test_values_are_placed_between_both_ends():
    axis = axis_of(np.array([0.0, 10.0, np.nan, np.inf]), 100, 0)
    assert axis.place(np.array([0.0, 2.5, 10.0])).tolist() == [100, 75, 0]
    assert [tick.text for tick in axis.ticks()] == ["0", "2", "4", "6", "8", "10"]


def test_a_wide_range_of_positive_values_is_logarithmic():
    axis = axis_of(np.array([0.01, 1.0, 100.0]), 0, 4, log=True)
    assert axis.log
    assert axis.place(np.array([0.01, 1.0, 10.0])) == pytest.approx([0, 2, 3])
    assert np.isnan(axis.place(np.array([0.0, -1.0]))).all()
    assert not axis_of(np.array([1.0, 2.0]), 0, 1, log=True).log
    assert not axis_of(np.array([-5.0, -4.0, 1.0, 100.0]), 0, 1, log=True).log


@pytest.mark.parametrize("values", [[], [3.0], [0.0, 0.0], [np.nan], [-2.0, -2.0], [1e-320]])
def test_an_axis_without_a_range_is_given_one(values):
    axis = axis_of(np.array(values, float), 0, 1)
    assert axis.low < axis.high
    assert axis.ticks()


def test_room_is_left_at_both_ends():
    linear = with_room(axis_of(np.array([0.0, 100.0]), 0, 1))
    assert (linear.low, linear.high) == pytest.approx((-3, 103))
    log = with_room(axis_of(np.array([1.0, 1e100]), 0, 1, log=True))
    assert (np.log10(log.low), np.log10(log.high)) == pytest.approx((-3, 103))


def test_ticks_are_round_numbers():
    assert round_numbers(0.13, 0.92) == pytest.approx([0.2, 0.4, 0.6, 0.8])
    assert round_numbers(-7, 12) == pytest.approx([-5, 0, 5, 10])
    assert decades(0.05, 200) == pytest.approx([0.1, 1, 10, 100])
    assert len(decades(1e-12, 1e12)) <= 6
    assert decades(0.04, 0.31) == pytest.approx([0.05, 0.1, 0.2])  # one power of ten says little
    assert decades(0.2, 0.7) == pytest.approx([0.2, 0.5])


def test_large_numbers_have_a_letter():
    texts = [short_text(v) for v in (0.0, 0.25, 950.0, 50_000.0, 2.5e6, 1e-4, 1e10)]
    assert texts == ["0", "0.25", "950", "50k", "2.5M", "1e-04", "10G"]
