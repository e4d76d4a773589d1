"""The one place where data for a fit, questions to a reference and its answers are checked.

So are the arrays of a saved reference; whatever is damaged is refused by its name.
"""

from collections.abc import Mapping

import numpy as np
from jaxtyping import Float

from nppac.types import ReferenceStats
from nppac.utils.errors import UserError
from nppac.utils.json_reader import parse_json

SavedArrays = Mapping[str, np.ndarray]
"""What a file holds, by name."""


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
            f"{who} was fitted to observations of {size} numbers and was given an array of "
            f"shape {obs.shape}. Give it (n, {size})."
        )
    if not np.isfinite(obs).all():
        row = int(np.flatnonzero(~np.isfinite(obs).all(1))[0])
        raise UserError(
            f"{who} was given observation {row}, which is not finite. Look whether the "
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


def damaged(name: str, what: str) -> UserError:
    """The error that names what is wrong with an array of a saved reference."""
    return UserError(f"The saved reference is damaged: '{name}' {what}. Fit it again.")


def saved_matrix(arrays: SavedArrays, name: str) -> Float[np.ndarray, "n columns"]:
    """A matrix of finite numbers that is not empty."""
    value = saved_numbers(arrays, name)
    if value.ndim != 2 or value.size == 0:
        raise damaged(name, f"has shape {value.shape}, expected one row per point")
    return value


def saved_numbers(
    arrays: SavedArrays, name: str, shape: tuple[int, ...] | None = None
) -> Float[np.ndarray, "..."]:
    """Finite numbers in float64, of any shape or of the given one."""
    value = _saved(arrays, name)
    if value.dtype.kind != "f":
        raise damaged(name, f"holds {value.dtype}, expected floating-point numbers")
    value = np.asarray(value, np.float64)
    if not np.isfinite(value).all():
        raise damaged(name, "has entries that are not finite")
    if shape is not None and value.shape != shape:
        raise damaged(name, f"has shape {value.shape}, expected {shape}")
    return value


def saved_json(arrays: SavedArrays, name: str) -> dict[str, object]:
    """A JSON object."""
    text = saved_text(arrays, name)
    try:
        value = parse_json(text, name)
    except UserError as error:
        raise damaged(name, "is not JSON") from error
    if not isinstance(value, dict):
        raise damaged(name, "is not a JSON object")
    return value


def saved_text(arrays: SavedArrays, name: str) -> str:
    """A text."""
    value = _saved(arrays, name)
    if value.dtype.kind != "U" or value.shape != ():
        raise damaged(name, "is not a text")
    return str(value)


def _saved(arrays: SavedArrays, name: str) -> np.ndarray:
    if name not in arrays:
        raise damaged(name, "is missing")
    return arrays[name]
