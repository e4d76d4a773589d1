"""D4RL's format: HDF5 with one row per transition and flags where an episode ends."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from nppac.demos.build import build_episode, flat_array
from nppac.demos.data import Demos
from nppac.types import Episode
from nppac.utils.errors import UserError

_REQUIRED = ("observations", "actions", "terminals")
_OPTIONAL = ("rewards", "timeouts", "next_observations")


def read_d4rl(path: Path) -> Demos:
    """Read demonstrations from an HDF5 file in D4RL's layout."""
    columns = _columns(path)
    if len(columns["actions"]) == 0:
        return Demos((), str(path))
    ends = _ends(path, columns)
    starts = np.concatenate([[0], ends[:-1]])
    spans = list(zip(starts.tolist(), ends.tolist(), strict=True))
    return Demos(tuple(_episode(path, i, columns, *s) for i, s in enumerate(spans)), str(path))


def _columns(path: Path) -> dict[str, np.ndarray]:
    import h5py  # only this format needs it, and it is slow to import

    try:
        with h5py.File(path, "r") as file:
            _require_layout(path, file)
            columns = {k: np.asarray(file[k]) for k in (*_REQUIRED, *_OPTIONAL) if k in file}
    except (OSError, KeyError, RuntimeError, TypeError, ValueError) as error:
        raise UserError(
            f"{path} cannot be read as HDF5: {error}. It may be damaged or incomplete; "
            "fetch it again."
        ) from error
    _require_equal_rows(path, columns)
    return columns


def _require_layout(path: Path, file: Mapping[str, Any]) -> None:
    missing = [key for key in _REQUIRED if key not in file]
    if missing:
        raise UserError(
            f"{path} is an HDF5 file without {', '.join(missing)}: it holds "
            f"{', '.join(file) or 'nothing'}. D4RL's layout needs {', '.join(_REQUIRED)}, "
            "and better also 'rewards' and 'timeouts'."
        )
    for key in (*_REQUIRED, *_OPTIONAL):
        if key in file and not getattr(file[key], "shape", ()):  # a group has no shape
            raise UserError(
                f"{path}: '{key}' is a {'number' if hasattr(file[key], 'shape') else 'group'}, not "
                "an array with a row for each step. Join a dictionary's observations into one."
            )


def _require_equal_rows(path: Path, columns: Mapping[str, np.ndarray]) -> None:
    rows = {key: len(column) for key, column in columns.items()}
    if len(set(rows.values())) > 1:
        listed = ", ".join(f"{key} {count}" for key, count in rows.items())
        raise UserError(
            f"{path}: every array needs as many rows as there are steps, but has {listed}."
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
    marks = [
        flat_array(str(path), key, columns[key]).reshape(steps, -1).any(axis=1)
        for key in ("terminals", "timeouts")
        if key in columns
    ]
    flags = np.any(marks, axis=0)
    return np.union1d(np.flatnonzero(flags) + 1, [steps]).astype(np.int64)


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
