import numpy as np
import pytest

from nppac.references import checked_answer
from nppac.utils.errors import UserError

GOOD = np.ones((2, 3))


def changed(value):
    array = GOOD.copy()
    array[1, 2] = value
    return array


def test_good_answers_become_float32():
    stats = checked_answer((GOOD, GOOD.tolist()), 2)
    assert stats.loc.dtype == stats.scale.dtype == np.float32


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ((GOOD, GOOD[:, :2]), r"loc \(2, 3\) and scale \(2, 2\); both must be \(2, action"),
        ((GOOD[0], GOOD[0]), r"loc \(3,\)"),
        ((GOOD[:1], GOOD[:1]), r"loc \(1, 3\)"),
        (
            (changed(np.nan), GOOD),
            "loc that is not finite at 1 of 2 observations, first nan at row 1, action 2",
        ),
        ((GOOD, changed(np.inf)), "scale that is not finite"),
        ((GOOD, changed(0.0)), "scale that is not positive"),
        ((GOOD, changed(-1.0)), "scale that is not positive"),
        (GOOD, "ndarray; it must return the pair"),
        ((GOOD, GOOD, GOOD), "tuple of length 3"),
        (None, "NoneType"),
        (("a", GOOD), "something else than numbers"),
    ],
)
def test_bad_answers_are_named(answer, message):
    with pytest.raises(UserError, match=f"My policy .*{message}"):
        checked_answer(answer, 2, "My policy")
