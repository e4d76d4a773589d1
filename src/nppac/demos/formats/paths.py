"""Lists of dicts, one per episode: what the DAPG pickles and the AWAC npy files hold inside."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from nppac.demos.build import build_episode, flat_array
from nppac.demos.data import Demos
from nppac.types import Episode
from nppac.utils.errors import UserError


def demos_from_paths(path: Path, value: Any) -> Demos:
    """Demonstrations from a list or object array of dicts with `observations` and `actions`."""
    items = value.ravel().tolist() if isinstance(value, np.ndarray) else value
    if not isinstance(items, list | tuple):
        raise UserError(
            f"{path} holds {_kind(items)}; expected a list of dicts, one for each episode, with "
            "'observations' and 'actions'."
        )
    return Demos(
        tuple(_episode(f"{path}, episode {i}", item) for i, item in enumerate(items)), str(path)
    )


def _episode(where: str, item: Any) -> Episode:
    if not isinstance(item, Mapping):
        raise UserError(f"{where} is {_kind(item)}; expected a dict.")
    missing = [key for key in ("observations", "actions") if item.get(key) is None]
    if missing:
        keys = ", ".join(map(str, item)) or "nothing"
        raise UserError(f"{where} has no '{missing[0]}': it holds {keys}.")
    return build_episode(
        where,
        _all_observations(where, item),
        item["actions"],
        rewards=item.get("rewards"),
        successes=_successes(item),
        terminated=_terminated(where, item),
    )


def _all_observations(where: str, item: Mapping[str, Any]) -> list[Any]:
    """The observations, and the one after the last action where the file kept it."""
    current, following = item["observations"], item.get("next_observations")
    rows = _state_rows(where, current)
    if rows and _count(following) == _count(item["actions"]) == len(rows):
        rows = rows + _state_rows(where, following)[-1:]
    return rows


def _state_rows(where: str, observations: Any) -> list[Any]:
    rows = _state(where, observations)
    if not _is_sequence(rows):
        raise UserError(f"{where}: 'observations' is {_kind(rows)}; expected one row per step.")
    return [_state(where, row) for row in rows]


def _state(where: str, row: Any) -> Any:
    if not isinstance(row, Mapping):
        return row
    for key in ("state_observation", "observation"):
        if key in row:
            return row[key]
    raise UserError(
        f"{where}: an observation is a dict of {', '.join(map(str, row)) or 'nothing'}; "
        "expected 'state_observation'."
    )


def _successes(item: Mapping[str, Any]) -> Any:
    infos = item.get("env_infos")
    return infos.get("goal_achieved") if isinstance(infos, Mapping) else None


def _terminated(where: str, item: Mapping[str, Any]) -> bool:
    """Whether the task itself ended the episode: one flag, or one for each step."""
    for key in ("terminated", "terminals"):
        if item.get(key) is not None:
            flags = flat_array(where, key, item[key])
            return bool(flags[-1]) if len(flags) else False
    return False


def _is_sequence(value: Any) -> bool:
    return isinstance(value, list | tuple) or (isinstance(value, np.ndarray) and value.ndim > 0)


def _count(value: Any) -> int:
    return len(value) if _is_sequence(value) else 0


def _kind(value: Any) -> str:
    return "an array" if isinstance(value, np.ndarray) else f"a {type(value).__name__}"
