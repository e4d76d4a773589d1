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


def test_values_beyond_float32_become_infinite_without_a_warning():
    assert np.isinf(build_episode("e", [[1e300]], [[0.0]]).observations).all()
