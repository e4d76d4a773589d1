"""Minari datasets, by id from the local store or by the directory that holds one.

Minari is not asked to read them: it trusts what it reads.
"""

import os
import re
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from nppac.demos.build import build_episode, flag_array
from nppac.demos.data import Demos
from nppac.demos.formats.hdf5 import read_hdf5
from nppac.demos.formats.minari_metadata import (
    Box,
    MinariMetadata,
    ObservationLayout,
    read_metadata,
)
from nppac.demos.limits import check_episode_count
from nppac.demos.metadata import ACTIONS, NORMALISED
from nppac.types import Episode
from nppac.utils.errors import UserError

_ID = re.compile(r"(?:[-_\w]+/)*[-_\w]+-v\d+")
_DATA_FILE = "main_data.hdf5"
_COLUMNS = ("observations", "actions", "rewards", "terminations", "infos/success")
_REQUIRED = ("actions", "rewards", "terminations")
_LARGEST_BOUND = 1e9
_Arrays = Mapping[str, np.ndarray]


def is_minari_id(name: str) -> bool:
    """Whether `name` is written like a Minari dataset id, such as `D4RL/door/human-v2`."""
    return _ID.fullmatch(name) is not None


def find_minari_data(directory: Path) -> Path | None:
    """The directory with Minari's metadata, if `directory` is a dataset or its `data` directory."""
    for candidate in (directory, directory / "data"):
        if (candidate / "metadata.json").is_file():
            return candidate
    return None


def read_minari_id(name: str) -> Demos | None:
    """Demonstrations from the local store, or None if it has no such dataset."""
    store = os.environ.get("MINARI_DATASETS_PATH") or Path.home() / ".minari" / "datasets"
    data = Path(store) / name / "data"
    if not (data / "metadata.json").is_file():
        return None
    return _read(data, f"Minari {name}")


def read_minari_path(data: Path) -> Demos:
    """Demonstrations from the directory that holds a dataset's `metadata.json`."""
    return _read(data, str(data))


def _read(data: Path, source: str) -> Demos:
    path = data / _DATA_FILE
    for file in (path, data / "metadata.json"):
        if not file.is_file() or file.is_symlink():
            problem = "is a link to another file" if file.is_symlink() else "is missing"
            raise UserError(
                f"{source} cannot be read as a Minari dataset: {file.name} {problem}. Fetch it "
                "again."
            )
    metadata = read_metadata(data)
    check_episode_count(source, metadata.episodes)
    wanted = [f"episode_{i}/{key}" for i in range(metadata.episodes) for key in _COLUMNS]
    return demos_from_arrays(source, metadata, read_hdf5(path, wanted).arrays)


def demos_from_arrays(source: str, metadata: MinariMetadata, arrays: _Arrays) -> Demos:
    """Demonstrations from a dataset's metadata and its arrays by their path."""
    bounded = _is_bounded(metadata.actions)
    by_episode: dict[str, dict[str, np.ndarray]] = {}
    for name, array in arrays.items():
        episode, _, key = name.partition("/")
        by_episode.setdefault(episode, {})[key] = array
    episodes = tuple(
        _episode(f"{source}, episode {i}", by_episode.get(f"episode_{i}", {}), metadata)
        for i in range(metadata.episodes)
    )
    # Without bounds nobody knows what the units are, unless the task does.
    known = {ACTIONS: NORMALISED} if bounded else {}
    return Demos(episodes, source, {**metadata.facts, **known})


def _episode(where: str, arrays: _Arrays, metadata: MinariMetadata) -> Episode:
    for key in _REQUIRED:
        if key not in arrays:
            raise UserError(f"{where} has no '{key}'. The dataset may be incomplete; fetch again.")
    actions = _shaped(where, "actions", arrays["actions"], metadata.actions)
    ends = flag_array(where, "terminations", arrays["terminations"])
    return build_episode(
        where,
        _observations(where, "observations", arrays, metadata.observations),
        _normalised(actions, metadata.actions) if _is_bounded(metadata.actions) else actions,
        rewards=arrays["rewards"],
        successes=_successes(arrays.get("infos/success"), len(actions)),
        terminated=ends[-1] if len(ends) else False,
    )


def _observations(where: str, key: str, arrays: _Arrays, layout: ObservationLayout) -> np.ndarray:
    """One vector per step: the parts of a dict or tuple side by side."""
    if isinstance(layout, Box):
        if key not in arrays:
            raise UserError(f"{where} has no '{key}', which its metadata tells of.")
        found = _shaped(where, key, arrays[key], layout)
        return found.reshape(len(found), int(np.prod(layout.shape)))
    parts = [_observations(where, f"{key}/{name}", arrays, layout[name]) for name in layout]
    rows = [len(part) for part in parts]
    if len(set(rows)) > 1:
        raise UserError(f"{where}: the parts of '{key}' have different numbers of rows, {rows}.")
    return np.concatenate(parts, axis=1)


def _shaped(where: str, key: str, array: np.ndarray, box: Box) -> np.ndarray:
    if array.shape[1:] != box.shape or array.ndim == 0:
        raise UserError(
            f"{where}: '{key}' is of shape {array.shape}, where the metadata tells of rows of "
            f"shape {box.shape}. The dataset may be damaged; fetch it again."
        )
    return array


def _is_bounded(box: Box) -> bool:
    """Whether every action has bounds that a machine could have."""
    if box.low is None or box.high is None:
        return False
    ends = np.abs([box.low, box.high])
    return bool((ends <= _LARGEST_BOUND).all() and (box.low < box.high).all())


def _normalised(actions: np.ndarray, box: Box) -> np.ndarray:
    """From the space's bounds to [-1, 1], the range of every action in this project."""
    assert box.low is not None
    assert box.high is not None
    return 2.0 * (actions - box.low) / (box.high - box.low) - 1.0


def _successes(found: np.ndarray | None, steps: int) -> np.ndarray | None:
    """Success after each action; Minari stores the reset's info in front where it has one."""
    if found is None or found.ndim == 0 or len(found) < steps:
        return None
    return found[len(found) - steps :]
