import numpy as np
import pytest

from nppac.diagnostics.online import OnlinePolicy
from nppac.diagnostics.profile import measure, summarise_states, variance_profile
from nppac.types import ReferenceStats

POLICY = OnlinePolicy()


def test_one_tight_dimension_shows_in_the_harmonic_mean():
    scale = np.array([[1.0, 0.1]])
    point = summarise_states(
        measure("normal", ReferenceStats(0 * scale, scale), np.zeros(1), POLICY)
    )
    assert point.variance == pytest.approx(0.505)
    assert point.harmonic_mean_variance == pytest.approx(2 / 101)


def test_intervals_with_too_few_states_are_left_out():
    distance = np.array([0.0, 0.1, 0.6, 2.0])
    scale = np.sqrt([[1.0], [3.0], [5.0], [7.0]])
    measured = measure("normal", ReferenceStats(0 * scale, scale), distance, POLICY)
    edges = np.array([0.0, 0.5, 1.0, np.inf])
    assert [p.variance for p in variance_profile(measured, edges)] == pytest.approx([2.0, 5.0, 7.0])
    (only,) = variance_profile(measured, edges, least=2)
    assert (only.states, only.distance) == (2, pytest.approx(0.05))
    assert len(measured.beyond(0.6)) == 2
