"""Asking a reference that may be anybody's: what comes back is checked before it is believed."""

import numpy as np

from nppac.references.base import Reference
from nppac.types import ReferenceStats
from nppac.utils.errors import UserError

FAMILIES = ("normal", "laplace", "uniform")


class BrokenReference(UserError):
    """A reference whose answer is no density; the message says what is wrong and where."""


def query(reference: Reference, obs: np.ndarray, action_dim: int, where: str) -> ReferenceStats:
    """Location and scale (n, d) at the states, or `BrokenReference`; `where` names the states."""
    if reference.family not in FAMILIES:
        raise BrokenReference(
            f"Its family is {reference.family!r}; expected one of {', '.join(FAMILIES)}."
        )
    try:
        answer = reference(obs)
        loc, scale = (np.asarray(part, np.float64) for part in answer)
    except Exception as error:  # a user's function can fail in any way
        raise BrokenReference(f"Asked {where}, it fails: {_text(error)}") from error
    for name, array in (("location", loc), ("scale", scale)):
        _check_numbers(name, array, (len(obs), action_dim), where)
    if not (scale > 0.0).all():
        row, column = np.argwhere(~(scale > 0.0))[0]
        raise BrokenReference(
            f"Asked {where}, its scale of action {column} is {scale[row, column]:g}; a scale must "
            "be positive. Is it a logarithm, or a network's raw output?"
        )
    return ReferenceStats(loc, scale)


def query_mean(reference: Reference, obs: np.ndarray, action_dim: int, where: str) -> np.ndarray:
    """Location alone, or `BrokenReference`."""
    try:
        loc = np.asarray(reference.mean(obs))
    except Exception as error:
        raise BrokenReference(f"Asked {where}, it fails: {_text(error)}") from error
    _check_numbers("location", loc, (len(obs), action_dim), where)
    return loc


def _check_numbers(name: str, array: np.ndarray, shape: tuple[int, int], where: str) -> None:
    if array.shape != shape:
        raise BrokenReference(
            f"Asked {where}, its {name} has shape {array.shape}; expected {shape}, one row per "
            "state and one column per action dimension."
        )
    if not np.isfinite(array).all():
        row, column = np.argwhere(~np.isfinite(array))[0]
        share = np.mean(~np.isfinite(array).all(1))
        raise BrokenReference(
            f"Asked {where}, its {name} of action {column} is {array[row, column]} "
            f"({share:.0%} of these states have such values); it must be finite."
        )


def _text(error: Exception) -> str:
    return str(error) if isinstance(error, UserError) else f"{type(error).__name__}: {error}"
