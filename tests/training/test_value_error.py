"""The critics against the returns of episodes that they have not learned from."""

from types import SimpleNamespace

import numpy as np
import pytest

from nppac.training.value_error import value_error
from nppac.types import Batch, ReferenceStats


class Guess:
    """Critics that say the observation's first number."""

    discount = 0.5

    def values(self, state, obs, action, reference):
        return obs[:, 0]


def batch(values, rewards, masks, ends):
    rows = len(values)
    obs = np.float32(values)[:, None]
    stats = ReferenceStats(obs, obs)
    columns = (np.float32(column) for column in (rewards, masks, ends))
    reward, mask, end = columns
    return Batch(obs, np.zeros((rows, 1), np.float32), reward, obs, mask, stats, stats, end)


def test_an_episode_that_terminates_is_compared_with_its_rewards():
    # G = (1 + 2/2 + 4/4, 2 + 4/2, 4) = (3, 4, 4); the critics say 3, 5, 4.
    found = value_error(Guess(), None, batch([3, 5, 4], [1, 2, 4], [1, 1, 0], [0, 0, 1]))
    assert found["value_return"] == pytest.approx(11 / 3)
    assert found["value_bias"] == pytest.approx(1 / 3)
    assert found["value_error"] == pytest.approx(np.sqrt(1 / 3))


def test_an_episode_that_is_cut_is_continued_with_the_critics_own_value():
    # The last value, 8, stands for what was not seen: G = (1 + 8/2, 8), and the next episode's (6).
    found = value_error(Guess(), None, batch([5, 8, 6], [1, 99, 6], [1, 1, 0], [0, 1, 1]))
    assert found["value_return"] == pytest.approx(19 / 3)
    assert found["value_error"] == pytest.approx(0.0)


def test_a_method_without_critics_reports_nothing():
    assert value_error(SimpleNamespace(), None, batch([1], [1], [1], [1])) == {}
