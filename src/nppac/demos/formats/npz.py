"""The project's own format: flat arrays and the lengths of the episodes in one npz file.

`observations` holds T+1 rows per episode (or T where the last was not recorded), one episode after
the other; `actions` T rows; `rewards` and `successes` T each, `terminated` one per episode, all
three optional; `env_id` is a string, `env_kwargs` and `provenance` are JSON strings. `action_units`
is the string "normalised" where actions are in [-1, 1], whatever the environment's own bounds are.
"""

import json
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from nppac.demos.build import build_episode, flag_array
from nppac.demos.data import Demos
from nppac.demos.limits import BYTES, check_episode_count
from nppac.demos.metadata import (
    ACTIONS,
    ENV_ID,
    NORMALISED,
    checked_env_id,
    checked_object,
    is_normalised,
)
from nppac.types import Episode
from nppac.utils.errors import UserError
from nppac.utils.files import read_arrays, write_arrays
from nppac.utils.json_reader import parse_json
from nppac.utils.npz_reader import array_names
from nppac.utils.text import listed, shown

_REQUIRED = ("observations", "actions", "episode_lengths")
_JSON_KEYS = ("env_kwargs", "provenance")
_UNITS = "action_units"
_TEXTS = (ENV_ID, _UNITS, *_JSON_KEYS)
_KNOWN = (*_REQUIRED, "rewards", "successes", "terminated", *_TEXTS)


def read_npz(path: Path) -> Demos:
    """Read demonstrations from an npz file; arrays of other names in it are left alone."""
    arrays = read_arrays(path, _KNOWN, BYTES)
    missing = [key for key in _REQUIRED if key not in arrays]
    if missing:
        raise UserError(
            f"{path} is an npz file without {', '.join(missing)}: it holds "
            f"{listed(array_names(path)) or 'nothing'}. Demonstrations need {', '.join(_REQUIRED)}."
        )
    return Demos(tuple(_episodes(path, arrays)), str(path), _metadata(path, arrays))


def _episodes(path: Path, arrays: Mapping[str, np.ndarray]) -> list[Episode]:
    lengths = _lengths(path, arrays["episode_lengths"], arrays["actions"])
    columns = {
        key: _split(path, key, arrays[key], lengths) if key in arrays else [None] * len(lengths)
        for key in ("observations", "actions", "rewards", "successes")
    }
    flags = arrays.get("terminated", np.zeros(len(lengths), bool))
    ends = flag_array(str(path), "terminated", flags)
    if len(ends) != len(lengths):
        raise UserError(
            f"{path}: 'terminated' has {len(ends)} entries for {len(lengths)} episodes."
        )
    return [
        build_episode(f"{path}, episode {i}", *(columns[k][i] for k in columns), terminated=ends[i])
        for i in range(len(lengths))
    ]


def _lengths(path: Path, lengths: np.ndarray, actions: np.ndarray) -> np.ndarray:
    if lengths.ndim != 1 or lengths.dtype.kind not in "iu" or (lengths < 0).any():
        raise UserError(
            f"{path}: 'episode_lengths' must be a list of whole numbers, none negative."
        )
    check_episode_count(str(path), len(lengths))
    steps = len(actions) if actions.ndim else 0
    if (lengths > steps).any():  # before a sum, which could overflow
        raise UserError(
            f"{path}: an episode has {lengths.max()} actions by 'episode_lengths', but 'actions' "
            f"has {steps} rows in all. Write the file again."
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


def _metadata(path: Path, arrays: Mapping[str, np.ndarray]) -> dict[str, object]:
    texts = {key: _text(path, key, arrays[key]) for key in _TEXTS if key in arrays}
    metadata: dict[str, object] = {}
    if ENV_ID in texts:
        metadata[ENV_ID] = checked_env_id(str(path), texts[ENV_ID])
    if _UNITS in texts:
        if texts[_UNITS] != NORMALISED:
            raise UserError(
                f"{path}: '{_UNITS}' is {shown(texts[_UNITS])}; it must be '{NORMALISED}', or be "
                "left out where the actions are in the environment's units."
            )
        metadata[ACTIONS] = NORMALISED
    for key in _JSON_KEYS:
        if key in texts:
            where = f"{path}: '{key}'"
            metadata[key] = checked_object(str(path), key, parse_json(texts[key], where))
    return metadata


def _text(path: Path, key: str, array: np.ndarray) -> str:
    if array.dtype.kind != "U" or array.size != 1:
        raise UserError(f"{path}: '{key}' must be one piece of text.")
    return str(array.reshape(-1)[0])


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


def _column(demos: Demos, key: str, dtype: type) -> dict[str, np.ndarray]:
    columns = [getattr(e, key) for e in demos.episodes]
    if any(column is None for column in columns):
        return {}
    for i, (episode, column) in enumerate(zip(demos.episodes, columns, strict=True)):
        if len(column) < len(episode):
            raise UserError(f"Episode {i} has {len(column)} {key} for {len(episode)} actions.")
    return {key: demos.stack(key).astype(dtype)}


def _metadata_arrays(metadata: Mapping[str, object]) -> dict[str, np.ndarray]:
    texts = {k: json.dumps(metadata[k], default=str) for k in _JSON_KEYS if k in metadata}
    texts |= {ENV_ID: str(metadata[ENV_ID])} if ENV_ID in metadata else {}
    texts |= {_UNITS: NORMALISED} if is_normalised(metadata) else {}
    return {key: np.array(text) for key, text in texts.items()}
