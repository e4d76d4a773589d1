"""From whatever a file held to an `Episode` of float32 arrays; errors name the episode."""

import numpy as np

from nppac.types import Episode
from nppac.utils.errors import UserError
from nppac.utils.text import brief

_NUMBERS = "biuf"
_KINDS = {"c": "complex numbers", "M": "dates", "m": "time spans", "S": "text", "U": "text"}


def build_episode(
    where: str,
    observations: object,
    actions: object,
    rewards: object = None,
    successes: object = None,
    terminated: object = False,
) -> Episode:
    """An episode of float32 arrays; `where` names it in errors. Lengths are left to validation."""
    return Episode(
        observations=_rows(where, "observations", observations),
        actions=_rows(where, "actions", actions),
        rewards=None if rewards is None else flat_array(where, "rewards", rewards),
        successes=None if successes is None else flag_array(where, "successes", successes),
        terminated=bool(terminated),
    )


def _rows(where: str, name: str, values: object) -> np.ndarray:
    array = _float32(where, name, values)
    if array.ndim == 0:
        raise UserError(f"{where}: '{name}' is a single number; expected one row for each step.")
    width = int(np.prod(array.shape[1:]))
    if width == 0:
        raise UserError(
            f"{where}: '{name}' is of shape {array.shape}: its rows are empty. Give at least one "
            "number for each step."
        )
    # A row may be an image or a single number: the task's vector is its flattened form.
    return array.reshape(len(array), width)


def flat_array(where: str, name: str, values: object) -> np.ndarray:
    """One number per step, whether the file has them as a row or as a column."""
    return _float32(where, name, values).reshape(-1)


def flag_array(where: str, name: str, values: object) -> np.ndarray:
    """One flag per step: false where the number is 0."""
    flags = flat_array(where, name, values)
    if not np.isfinite(flags).all():
        step = int(np.flatnonzero(~np.isfinite(flags))[0])
        raise UserError(f"{where}: '{name}', step {step} is {flags[step]}; expected 0 or 1.")
    return flags != 0


def _float32(where: str, name: str, values: object) -> np.ndarray:
    try:
        array = np.asarray(values, order="C")
    except (TypeError, ValueError, OverflowError) as error:
        raise _not_numbers(where, name, brief(error)) from error
    if array.dtype.kind not in _NUMBERS and array.size:
        found = _KINDS.get(array.dtype.kind, "values of several kinds")
        raise _not_numbers(where, name, f"it holds {found}")
    if array.dtype.kind not in _NUMBERS:  # an empty list has no type of its own
        return np.empty(array.shape, np.float32)
    with np.errstate(over="ignore", invalid="ignore"):
        single = np.asarray(array, dtype=np.float32, order="C")
    _check_range(where, name, array, single)
    return single


def _check_range(where: str, name: str, array: np.ndarray, single: np.ndarray) -> None:
    """Refuse numbers that only a longer float can hold; others that are infinite stay for now."""
    if array.dtype.itemsize <= 4 or np.isfinite(single).all():
        return
    lost = np.argwhere(np.isinf(single) & np.isfinite(array))
    if len(lost):
        step, *entry = lost[0].tolist()
        place = f"step {step}" + "".join(f", entry {i}" for i in entry)
        raise UserError(
            f"{where}: '{name}', {place} is {array[tuple(lost[0])]:g}, beyond what a float32 "
            "holds (3.4e38). Repair the file, or use other units."
        )


def _not_numbers(where: str, name: str, problem: str) -> UserError:
    return UserError(
        f"{where}: '{name}' is not an array of numbers ({problem}). "
        "Store it as one array with a row for each step."
    )
