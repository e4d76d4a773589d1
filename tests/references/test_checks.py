import numpy as np
import pytest

from nppac.references.checks import (
    BadAnswer,
    check_fit_data,
    checked_answer,
    checked_location,
    checked_states,
)
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


@pytest.mark.parametrize(
    ("obs", "message"),
    [
        (np.zeros((2, 4)), r"observations of 3 numbers.*\(2, 4\)"),
        (np.zeros(3), r"shape \(3,\)"),
        (np.array([[0.0, 0.0, 0.0], [0.0, np.nan, 0.0]]), "observation 1, which is not finite"),
    ],
)
def test_bad_states_are_named(obs, message):
    with pytest.raises(UserError, match=message):
        checked_states(obs, 3, "The network")


def test_bad_answers_have_a_type_of_their_own():
    with pytest.raises(BadAnswer, match=r"both must be \(2, 4\)"):
        checked_answer((GOOD, GOOD), 2, action_dim=4)
    assert checked_answer((GOOD, GOOD), 2, action_dim=3).loc.shape == (2, 3)


def test_locations_alone():
    assert checked_location(GOOD, 2).dtype == np.float32
    with pytest.raises(BadAnswer, match=r"shape \(2, 3\); it must be \(2, 4\)"):
        checked_location(GOOD, 2, action_dim=4)
    with pytest.raises(BadAnswer, match="loc that is not finite at 1 of 2 observations"):
        checked_location(changed(np.inf), 2)


@pytest.mark.parametrize(
    ("obs", "actions", "message"),
    [
        (GOOD[0], GOOD, r"observations have shape \(3,\)"),
        (GOOD, GOOD[:0], r"actions have shape \(0, 3\)"),
        (changed(np.nan), GOOD, "observations are not finite at step 1"),
        (GOOD, GOOD[:1], "2 observations but 1 actions"),
    ],
)
def test_bad_data_for_a_fit_are_named(obs, actions, message):
    with pytest.raises(UserError, match=message):
        check_fit_data(obs, actions)
