"""Lists of dicts, one per episode: what the DAPG pickles and the AWAC npy files hold inside."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TypeGuard

import numpy as np

from nppac.demos.build import build_episode, flag_array
from nppac.demos.data import Demos
from nppac.demos.limits import check_episode_count
from nppac.types import Episode
from nppac.utils.errors import UserError
from nppac.utils.text import listed

_ENDS = ("terminated", "terminals")
_NUMBERS_PER_BYTE = 8
"""A flag takes one byte of a file; the rest allows for entries that episodes share."""
_SPARE_NUMBERS = 2**20
_Rows = list[object] | tuple[object, ...] | np.ndarray


def demos_from_paths(path: Path, value: object) -> Demos:
    """Demonstrations from a list of dicts with `observations` and `actions`."""
    if not isinstance(value, list | tuple):
        raise UserError(
            f"{path} holds {_kind(value)}; expected a list of dicts, one for each episode, with "
            "'observations' and 'actions'."
        )
    check_episode_count(str(path), len(value))
    return Demos(tuple(_episodes(path, value)), str(path))


def _episodes(path: Path, items: Sequence[object]) -> Iterator[Episode]:
    """Episodes of no more numbers than the file can mean.

    A list that refers to one entry again and again is short in a file and in memory, but not once
    it is an array.
    """
    left = _SPARE_NUMBERS + _NUMBERS_PER_BYTE * path.stat().st_size
    for i, item in enumerate(items):
        where = f"{path}, episode {i}"
        item = _checked_item(where, item)
        fields = _fields(where, item)
        flags = [item.get(key) for key in _ENDS]
        counted: dict[int, int] = {}  # by id: good for as long as the fields are held
        left -= sum(_count_numbers(field, counted) for field in (*fields.values(), *flags))
        if left < 0:
            raise UserError(
                f"{where}: its lists repeat their entries until they are far larger than the file. "
                "Store arrays instead."
            )
        yield build_episode(where, **fields, terminated=_terminated(where, item))


def _count_numbers(value: object, counted: dict[int, int]) -> int:
    """How many numbers an array of `value` would hold, and how many lists it is made from."""
    if isinstance(value, np.ndarray):
        return value.size + (len(value) if value.ndim else 0)
    if not isinstance(value, list | tuple):
        return 1
    if id(value) not in counted:
        counted[id(value)] = 1 + sum(_count_numbers(entry, counted) for entry in value)
    return counted[id(value)]


def _checked_item(where: str, item: object) -> Mapping[str, object]:
    """The dict of one episode, with observations and actions."""
    if not isinstance(item, Mapping):
        raise UserError(f"{where} is {_kind(item)}; expected a dict.")
    missing = [key for key in ("observations", "actions") if item.get(key) is None]
    if missing:
        raise UserError(f"{where} has no '{missing[0]}': it holds {listed(item) or 'nothing'}.")
    return item


def _fields(where: str, item: Mapping[str, object]) -> dict[str, object]:
    return {
        "observations": _all_observations(where, item),
        "actions": item["actions"],
        "rewards": item.get("rewards"),
        "successes": _successes(item),
    }


def _all_observations(where: str, item: Mapping[str, object]) -> object:
    """The observations, and the one after the last action where the file kept it."""
    current, following = item["observations"], item.get("next_observations")
    if following is None and isinstance(current, np.ndarray) and current.ndim:
        return current
    rows = _state_rows(where, current)
    if rows and _count(following) == _count(item["actions"]) == len(rows):
        rows = rows + _state_rows(where, following)[-1:]
    return rows


def _state_rows(where: str, observations: object) -> list[object]:
    rows = _state(where, observations)
    if not _is_sequence(rows):
        raise UserError(f"{where}: 'observations' is {_kind(rows)}; expected one row per step.")
    return [_state(where, row) for row in rows]


def _state(where: str, row: object) -> object:
    if not isinstance(row, Mapping):
        return row
    for key in ("state_observation", "observation"):
        if key in row:
            return row[key]
    raise UserError(
        f"{where}: an observation is a dict of {listed(row) or 'nothing'}; expected "
        "'state_observation'."
    )


def _successes(item: Mapping[str, object]) -> object:
    infos = item.get("env_infos")
    return infos.get("goal_achieved") if isinstance(infos, Mapping) else None


def _terminated(where: str, item: Mapping[str, object]) -> bool:
    """Whether the task itself ended the episode: one flag, or one for each step."""
    for key in _ENDS:
        if item.get(key) is not None:
            flags = flag_array(where, key, item[key])
            return bool(flags[-1]) if len(flags) else False
    return False


def _is_sequence(value: object) -> TypeGuard[_Rows]:
    return isinstance(value, list | tuple) or (isinstance(value, np.ndarray) and value.ndim > 0)


def _count(value: object) -> int:
    return len(value) if _is_sequence(value) else 0


def _kind(value: object) -> str:
    return "an array" if isinstance(value, np.ndarray) else f"a {type(value).__name__}"
