"""The project's own format: flat arrays and the lengths of the episodes in one npz file.

`observations` holds T+1 rows per episode (or T where the last was not recorded), one episode after
the other; `actions` T rows; `rewards` and `successes` T each, `terminated` one per episode, all
three optional; `env_id` is a string, `env_kwargs` and `provenance` are JSON strings.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from zipfile import is_zipfile

import numpy as np

from nppac.demos.build import build_episode
from nppac.demos.data import Demos
from nppac.types import Episode
from nppac.utils.errors import UserError
from nppac.utils.files import read_arrays, write_arrays

_REQUIRED = ("observations", "actions", "episode_lengths")
_JSON_KEYS = ("env_kwargs", "provenance")


def read_npz(path: Path) -> Demos:
    """Read demonstrations from an npz file."""
    # NumPy leaves a damaged archive open, so that its end is looked for first.
    if not is_zipfile(path):
        raise UserError(f"{path} is a damaged or incomplete npz file; fetch or write it again.")
    # A zip may hold files that are no arrays; those come back as bytes.
    arrays = {k: v for k, v in read_arrays(path).items() if isinstance(v, np.ndarray)}
    missing = [key for key in _REQUIRED if key not in arrays]
    if missing:
        raise UserError(
            f"{path} is an npz file without {', '.join(missing)}: it holds "
            f"{', '.join(arrays) or 'nothing'}. Demonstrations need {', '.join(_REQUIRED)}."
        )
    return Demos(tuple(_episodes(path, arrays)), str(path), _metadata(path, arrays))


def _episodes(path: Path, arrays: Mapping[str, np.ndarray]) -> list[Episode]:
    lengths = _lengths(path, arrays["episode_lengths"])
    columns = {
        key: _split(path, key, arrays[key], lengths) if key in arrays else [None] * len(lengths)
        for key in ("observations", "actions", "rewards", "successes")
    }
    ends = arrays.get("terminated", np.zeros(len(lengths), bool)).reshape(-1)
    if len(ends) != len(lengths):
        raise UserError(
            f"{path}: 'terminated' has {len(ends)} entries for {len(lengths)} episodes."
        )
    return [
        build_episode(f"{path}, episode {i}", *(columns[k][i] for k in columns), terminated=ends[i])
        for i in range(len(lengths))
    ]


def _lengths(path: Path, lengths: np.ndarray) -> np.ndarray:
    if lengths.ndim != 1 or lengths.dtype.kind not in "iu" or (lengths < 0).any():
        raise UserError(
            f"{path}: 'episode_lengths' must be a list of whole numbers, none negative."
        )
    return lengths.astype(np.int64)


def _split(path: Path, key: str, array: np.ndarray, lengths: np.ndarray) -> list[np.ndarray]:
    """Cut into episodes; one row more per episode is told from the total."""
    rows = len(array) if array.ndim else 0
    steps, longer = int(lengths.sum()), int(lengths.sum()) + len(lengths)
    if rows not in (steps, longer) or (key == "actions" and rows != steps):
        expected = f"{steps}" if key == "actions" else f"{steps} or {longer}"
        raise UserError(
            f"{path}: '{key}' has {rows} rows, but 'episode_lengths' adds up to {expected}. "
            "Write the file again with lengths that count the actions of each episode."
        )
    ends = np.cumsum(lengths if rows == steps else lengths + 1)
    return np.split(array, ends[:-1]) if len(lengths) else []


def _metadata(path: Path, arrays: Mapping[str, np.ndarray]) -> dict[str, Any]:
    metadata: dict[str, Any] = {"env_id": str(arrays["env_id"])} if "env_id" in arrays else {}
    for key in _JSON_KEYS:
        if key in arrays:
            metadata[key] = _json_object(path, key, str(arrays[key]))
    return metadata


def _json_object(path: Path, key: str, text: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except ValueError as error:
        raise UserError(f"{path}: '{key}' is not JSON: {error}.") from error
    if not isinstance(value, dict):
        raise UserError(f"{path}: '{key}' must be a JSON object, not {text[:40]}.")
    return value


def save_demos(path: str | Path, demos: Demos) -> None:
    """Write demonstrations as a compressed npz, atomically.

    The last observations are kept only if every episode has one, and so are rewards and successes.
    """
    extra = int(all(len(e.observations) > len(e) for e in demos.episodes))
    arrays = {
        "observations": demos.stack("observations", extra),
        "actions": demos.actions,
        "episode_lengths": np.array([len(e) for e in demos.episodes], np.int64),
        "terminated": np.array([e.terminated for e in demos.episodes], bool),
        **_column(demos, "rewards", np.float32),
        **_column(demos, "successes", bool),
        **_metadata_arrays(demos.metadata),
    }
    write_arrays(path, arrays, compress=True)


def _column(demos: Demos, key: str, dtype: Any) -> dict[str, np.ndarray]:
    columns = [getattr(e, key) for e in demos.episodes]
    if any(column is None for column in columns):
        return {}
    for i, (episode, column) in enumerate(zip(demos.episodes, columns, strict=True)):
        if len(column) < len(episode):
            raise UserError(f"Episode {i} has {len(column)} {key} for {len(episode)} actions.")
    return {key: demos.stack(key).astype(dtype)}


def _metadata_arrays(metadata: Mapping[str, Any]) -> dict[str, np.ndarray]:
    arrays = {
        k: np.array(json.dumps(metadata[k], default=str)) for k in _JSON_KEYS if k in metadata
    }
    return arrays | ({"env_id": np.array(str(metadata["env_id"]))} if "env_id" in metadata else {})
