"""From whatever a file held to an `Episode` of float32 arrays; errors name the episode."""

from typing import Any

import numpy as np

from nppac.types import Episode
from nppac.utils.errors import UserError


def build_episode(
    where: str,
    observations: Any,
    actions: Any,
    rewards: Any = None,
    successes: Any = None,
    terminated: Any = False,
) -> Episode:
    """An episode of float32 arrays; `where` names it in errors. Lengths are left to validation."""
    return Episode(
        observations=_rows(where, "observations", observations),
        actions=_rows(where, "actions", actions),
        rewards=None if rewards is None else flat_array(where, "rewards", rewards),
        successes=None if successes is None else flat_array(where, "successes", successes) != 0,
        terminated=bool(terminated),
    )


def _rows(where: str, name: str, values: Any) -> np.ndarray:
    array = _float32(where, name, values)
    if array.ndim == 0:
        raise UserError(f"{where}: '{name}' is a single number; expected one row for each step.")
    # A row may be an image or a single number: the task's vector is its flattened form.
    return array.reshape(len(array), int(np.prod(array.shape[1:])))


def flat_array(where: str, name: str, values: Any) -> np.ndarray:
    """One number per step, whether the file has them as a row or as a column."""
    return _float32(where, name, values).reshape(-1)


def _float32(where: str, name: str, values: Any) -> np.ndarray:
    try:
        # A value beyond float32 becomes Inf here, which validation reports with its place.
        with np.errstate(over="ignore", invalid="ignore"):
            return np.asarray(values, dtype=np.float32, order="C")
    except (TypeError, ValueError) as error:
        raise UserError(
            f"{where}: '{name}' is not an array of numbers ({error}). "
            "Store it as one array with a row for each step."
        ) from error
