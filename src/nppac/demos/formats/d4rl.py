"""D4RL's format: HDF5 with one row per transition and flags where an episode ends."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from nppac.demos.build import build_episode, flag_array
from nppac.demos.data import Demos
from nppac.demos.formats.hdf5 import Hdf5Contents, read_hdf5
from nppac.demos.limits import check_episode_count
from nppac.types import Episode
from nppac.utils.errors import UserError
from nppac.utils.text import listed

_REQUIRED = ("observations", "actions", "terminals")
_OPTIONAL = ("rewards", "timeouts", "next_observations")


def read_d4rl(path: Path) -> Demos:
    """Read demonstrations from an HDF5 file in D4RL's layout."""
    return demos_from_columns(path, read_hdf5(path, (*_REQUIRED, *_OPTIONAL)))


def demos_from_columns(path: Path, contents: Hdf5Contents) -> Demos:
    """Demonstrations from the arrays of a file in D4RL's layout."""
    _require_layout(path, contents)
    columns = contents.arrays
    _require_equal_rows(path, columns)
    if len(columns["actions"]) == 0:
        return Demos((), str(path))
    ends = _ends(path, columns)
    check_episode_count(str(path), len(ends))
    starts = np.concatenate([[0], ends[:-1]])
    spans = list(zip(starts.tolist(), ends.tolist(), strict=True))
    return Demos(tuple(_episode(path, i, columns, *s) for i, s in enumerate(spans)), str(path))


def _require_layout(path: Path, contents: Hdf5Contents) -> None:
    found = contents.arrays
    parts = {name.split("/")[0] for name in found if "/" in name}
    missing = [key for key in _REQUIRED if key not in found and key not in parts]
    if missing:
        raise UserError(
            f"{path} is an HDF5 file without {', '.join(missing)}: it holds "
            f"{listed(contents.names) or 'nothing'}. D4RL's layout needs {', '.join(_REQUIRED)}, "
            "and better also 'rewards' and 'timeouts'."
        )
    for key in (*_REQUIRED, *_OPTIONAL):
        if key in parts or (key in found and found[key].ndim == 0):
            raise UserError(
                f"{path}: '{key}' is a {'group' if key in parts else 'number'}, not "
                "an array with a row for each step. Join a dictionary's observations into one."
            )


def _require_equal_rows(path: Path, columns: Mapping[str, np.ndarray]) -> None:
    rows = {key: len(column) for key, column in columns.items()}
    if len(set(rows.values())) > 1:
        every = ", ".join(f"{key} {count}" for key, count in rows.items())
        raise UserError(
            f"{path}: every array needs as many rows as there are steps, but has {every}."
        )
    shapes = [columns[key].shape for key in ("observations", "next_observations") if key in columns]
    if len(set(shapes)) > 1:
        raise UserError(
            f"{path}: 'observations' {shapes[0]} and 'next_observations' {shapes[1]} differ in "
            "shape; both hold the same observations, one step apart."
        )


def _ends(path: Path, columns: Mapping[str, np.ndarray]) -> np.ndarray:
    """One past the last step of each episode; steps after the last flag are an unfinished one."""
    steps = len(columns["actions"])
    marks = [_marks(path, columns, key) for key in ("terminals", "timeouts") if key in columns]
    return np.union1d(np.flatnonzero(np.any(marks, axis=0)) + 1, [steps]).astype(np.int64)


def _marks(path: Path, columns: Mapping[str, np.ndarray], key: str) -> np.ndarray:
    steps = len(columns[key])
    flags = flag_array(str(path), key, columns[key])
    if flags.size != steps:
        raise UserError(
            f"{path}: '{key}' is of shape {columns[key].shape}; expected one flag for each of the "
            f"{steps} steps."
        )
    return flags


def _episode(
    path: Path, index: int, columns: Mapping[str, np.ndarray], start: int, end: int
) -> Episode:
    observations = columns["observations"][start:end]
    if "next_observations" in columns:
        observations = np.concatenate([observations, columns["next_observations"][end - 1 : end]])
    return build_episode(
        f"{path}, episode {index}",
        observations,
        columns["actions"][start:end],
        rewards=columns["rewards"][start:end] if "rewards" in columns else None,
        terminated=np.any(columns["terminals"][end - 1]),
    )
