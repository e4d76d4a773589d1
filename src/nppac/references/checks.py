"""The one place where data for a fit, questions to a reference and its answers are checked."""

import numpy as np
from jaxtyping import Float

from nppac.types import ReferenceStats
from nppac.utils.errors import UserError


class BadAnswer(UserError):
    """A reference answered with something that is no density; the message says what and where."""


def check_fit_data(
    obs: np.ndarray, actions: np.ndarray
) -> tuple[Float[np.ndarray, "n o"], Float[np.ndarray, "n d"]]:
    """Both as float64 matrices with one row per point, or a `UserError` that says what is wrong."""
    obs, actions = np.asarray(obs, np.float64), np.asarray(actions, np.float64)
    for name, array in (("observations", obs), ("actions", actions)):
        if array.ndim != 2 or array.size == 0:
            raise UserError(
                f"The demonstrations' {name} have shape {array.shape}; expected one row per step."
            )
        if not np.isfinite(array).all():
            row = int(np.flatnonzero(~np.isfinite(array).all(1))[0])
            raise UserError(
                f"The demonstrations' {name} are not finite at step {row}. Drop that episode."
            )
    if len(obs) != len(actions):
        raise UserError(
            f"There are {len(obs)} observations but {len(actions)} actions; expected as many. "
            "Drop the last observation of each episode."
        )
    return obs, actions


def checked_states(obs: np.ndarray, size: int, who: str) -> Float[np.ndarray, "n o"]:
    """`obs` as finite float64 states (n, size), or a `UserError` that says what is wrong."""
    obs = np.asarray(obs, np.float64)
    if obs.ndim != 2 or obs.shape[1] != size:
        raise UserError(
            f"{who} was fitted to observations of {size} numbers and was asked about an array of "
            f"shape {obs.shape}. Give it (n, {size})."
        )
    if not np.isfinite(obs).all():
        row = int(np.flatnonzero(~np.isfinite(obs).all(1))[0])
        raise UserError(
            f"{who} was asked about observation {row}, which is not finite. Look whether the "
            "simulation became unstable just before."
        )
    return obs


def checked_answer(
    answer: object, n: int, who: str = "The reference", action_dim: int | None = None
) -> ReferenceStats:
    """`answer` as two finite float32 arrays (n, d) with a positive scale, or a `BadAnswer`."""
    if not isinstance(answer, tuple | list) or len(answer) != 2:
        size = f" of length {len(answer)}" if isinstance(answer, tuple | list) else ""
        raise BadAnswer(
            f"{who} answered with {type(answer).__name__}{size}; it must return the pair "
            "(loc, scale)."
        )
    loc, scale = (_numbers(part, who) for part in answer)
    expected = (n, action_dim or "action dimension")
    if loc.shape != scale.shape or not _fits(loc, n, action_dim):
        raise BadAnswer(
            f"{who} answered {n} observations with loc {loc.shape} and scale {scale.shape}; both "
            f"must be ({expected[0]}, {expected[1]})."
        )
    _refuse("loc that is not finite", loc, ~np.isfinite(loc), who)
    _refuse("scale that is not finite", scale, ~np.isfinite(scale), who)
    _refuse("scale that is not positive", scale, ~(scale > 0), who)
    return ReferenceStats(loc, scale)


def checked_location(
    answer: object, n: int, who: str = "The reference", action_dim: int | None = None
) -> np.ndarray:
    """`answer` as a finite float32 array (n, d), or a `BadAnswer`."""
    loc = _numbers(answer, who)
    if not _fits(loc, n, action_dim):
        raise BadAnswer(
            f"{who} answered {n} observations with a location of shape {loc.shape}; it must be "
            f"({n}, {action_dim or 'action dimension'})."
        )
    _refuse("loc that is not finite", loc, ~np.isfinite(loc), who)
    return loc


def _fits(array: np.ndarray, n: int, action_dim: int | None) -> bool:
    if array.ndim != 2 or len(array) != n or array.shape[1] == 0:
        return False
    return action_dim is None or array.shape[1] == action_dim


def _refuse(what: str, array: np.ndarray, bad: np.ndarray, who: str) -> None:
    if bad.any():
        row, action = np.argwhere(bad)[0]
        raise BadAnswer(
            f"{who} gave a {what} at {bad.any(1).sum()} of {len(bad)} observations, first "
            f"{array[row, action]:g} at row {row}, action {action}. A floor under its variance or "
            "a refit may mend it."
        )


def _numbers(part: object, who: str) -> np.ndarray:
    try:
        return np.asarray(part, np.float32)
    except (TypeError, ValueError) as error:
        raise BadAnswer(f"{who} answered with something else than numbers: {error}.") from error
