import numpy as np
import pytest

from nppac.demos.build import build_episode
from nppac.utils.errors import UserError


def test_columns_and_single_numbers_become_rows():
    episode = build_episode("e", [1, 2, 3], [[0.5], [0.25]], rewards=[[1], [2]], terminated=1)
    assert episode.observations.shape == (3, 1)
    assert episode.actions.shape == (2, 1)
    np.testing.assert_array_equal(episode.rewards, np.array([1, 2], np.float32), strict=True)
    assert episode.terminated is True


def test_no_rows_at_all():
    assert build_episode("e", np.zeros((0, 3)), np.zeros((0, 2))).actions.shape == (0, 2)


@pytest.mark.parametrize("bad", [["a"], [[1, 2], [3]], [None, {}]])
def test_what_is_not_numbers_is_named(bad):
    with pytest.raises(UserError, match="episode 3: 'actions' is not an array of numbers"):
        build_episode("episode 3", [[1.0]], bad)


def test_a_single_number_is_no_column():
    with pytest.raises(UserError, match="'observations' is a single number"):
        build_episode("e", 1.0, [[1.0]])


def test_values_beyond_float32_are_refused_with_their_place():
    for values in ([[0.0, 1e39]], [[0, 10**39]], np.array([[0.0, -1e300]])):
        with pytest.raises(UserError, match=r"e 1: 'observations'"):
            build_episode("e 1", values, [[0.0]])
    with pytest.raises(UserError, match="step 1, entry 0 is 1e\\+39, beyond what a float32"):
        build_episode("e", [[0.0], [1e39]], [[0.0]])
    assert np.isinf(build_episode("e", [[np.inf]], [[0.0]]).observations).all()  # for validation


@pytest.mark.parametrize(
    ("values", "found"),
    [
        (np.array([[1 + 2j]]), "complex numbers"),
        (np.array([["2020-01-01"]], "M8[D]"), "dates"),
        (np.array([[1]], "m8[s]"), "time spans"),
        (np.array([["1.5"]]), "text"),
        (np.array([[b"1.5"]]), "text"),
        (np.array([[None]]), "several kinds"),
    ],
)
def test_what_could_be_taken_for_numbers_is_refused(values, found):
    for place in ("observations", "actions"):
        columns = {"observations": [[1.0]], "actions": [[1.0]], place: values}
        with pytest.raises(UserError, match=f"episode 3: '{place}' is not .*{found}"):
            build_episode("episode 3", **columns)


@pytest.mark.parametrize("shape", [(4, 0), (0, 0), (4, 3, 0)])
def test_rows_of_nothing_are_refused(shape):
    with pytest.raises(UserError, match="its rows are empty"):
        build_episode("e", np.zeros(shape), [[1.0]])


def test_flags_are_numbers():
    with pytest.raises(UserError, match="e: 'successes', step 1 is nan; expected 0 or 1"):
        build_episode("e", [[1.0]], [[1.0]], successes=[0, np.nan])
