import numpy as np
import pytest

from nppac.references.cache import remembering
from nppac.types import ReferenceStats
from nppac.utils.errors import UserError


class Counting:
    """Answers with the states themselves and keeps what it was asked."""

    def __init__(self):
        self.asked = []

    def __call__(self, obs):
        self.asked.append(len(obs))
        return ReferenceStats(obs, np.ones_like(obs))


def test_each_state_is_asked_about_once_and_answered_in_order():
    inner = Counting()
    query = remembering(inner)
    states = np.arange(8, dtype=np.float32).reshape(4, 2)
    for row in states[:3]:
        np.testing.assert_array_equal(query(row[None]).loc, row[None])
    answer = query(states[::-1])
    np.testing.assert_array_equal(answer.loc, states[::-1])
    np.testing.assert_array_equal(answer.scale, np.ones((4, 2)))
    assert inner.asked == [1, 1, 1, 1]


def test_a_bad_answer_is_named_before_it_is_remembered():
    query = remembering(lambda obs: ReferenceStats(obs, -np.ones_like(obs)))
    with pytest.raises(UserError, match="scale that is not positive"):
        query(np.zeros((2, 1), np.float32))
