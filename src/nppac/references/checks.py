"""Whether a reference can be asked, and what it answered be used; what is bad is named."""

from typing import Any

import numpy as np
from jaxtyping import Float

from nppac.types import ReferenceStats
from nppac.utils.errors import UserError


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


def checked_states(obs: np.ndarray, size: int, who: str) -> np.ndarray:
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


def checked_answer(answer: Any, n: int, who: str = "The reference") -> ReferenceStats:
    """`answer` as two finite float32 arrays (n, d) with a positive scale, or a `UserError`."""
    loc, scale = _pair(answer, who)
    if loc.shape != scale.shape or loc.ndim != 2 or len(loc) != n or loc.shape[1] == 0:
        raise UserError(
            f"{who} answered {n} observations with loc {loc.shape} and scale {scale.shape}; both "
            f"must be ({n}, action dimension)."
        )
    for what, array, bad in (
        ("loc that is not finite", loc, ~np.isfinite(loc)),
        ("scale that is not finite", scale, ~np.isfinite(scale)),
        ("scale that is not positive", scale, ~(scale > 0)),
    ):
        if bad.any():
            row, action = np.argwhere(bad)[0]
            raise UserError(
                f"{who} gave a {what} at {bad.any(1).sum()} of {n} observations, first "
                f"{array[row, action]:g} at row {row}, action {action}. A floor under its "
                "variance or a refit may mend it."
            )
    return ReferenceStats(loc, scale)


def _pair(answer: Any, who: str) -> tuple[np.ndarray, np.ndarray]:
    if not isinstance(answer, tuple | list) or len(answer) != 2:
        size = f" of length {len(answer)}" if isinstance(answer, tuple | list) else ""
        raise UserError(
            f"{who} answered with {type(answer).__name__}{size}; it must return the pair "
            "(loc, scale)."
        )
    try:
        return np.asarray(answer[0], np.float32), np.asarray(answer[1], np.float32)
    except (TypeError, ValueError) as error:
        raise UserError(f"{who} answered with something else than numbers: {error}.") from error
