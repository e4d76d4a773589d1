"""What a Minari dataset says of itself, read as plain data.

Minari itself makes the environment that `env_spec` describes where a space is missing, and so calls
what the file names. Here nothing is made: spaces are shapes and bounds, the environment is a name.
"""

import re
from collections.abc import Mapping
from math import prod
from pathlib import Path
from typing import NamedTuple

import numpy as np

from nppac.demos.metadata import checked_env_id, checked_object
from nppac.utils.errors import UserError
from nppac.utils.json_reader import parse_json
from nppac.utils.text import listed, shown

LIMIT = 16 * 2**20
_VERSION = re.compile(r"0\.[45]\.\d{1,3}")
_LARGEST_BOX = 2**20
_IMAGE_SIDE = 32
_CONTINUOUS = "expected continuous ones (a Box of one dimension)"


class Box(NamedTuple):
    """Shape of one array, and for actions its bounds."""

    shape: tuple[int, ...]
    low: np.ndarray | None = None
    high: np.ndarray | None = None


ObservationLayout = Box | dict[str, "ObservationLayout"]
"""A box, or named parts that are laid side by side in this order."""


class MinariMetadata(NamedTuple):
    """The parts of a dataset's metadata that matter here."""

    episodes: int
    observations: ObservationLayout
    actions: Box
    facts: dict[str, object]
    """`provenance`, and `env_id` and `env_kwargs` where they are known."""


def read_metadata(data: Path) -> MinariMetadata:
    """The metadata of the dataset in a directory."""
    where = str(data / "metadata.json")
    with (data / "metadata.json").open("rb") as file:
        stored = parse_json(file.read(LIMIT + 1), where, LIMIT)
    if not isinstance(stored, dict):
        raise UserError(f"{where} must be a JSON object, not {shown(stored)}.")
    _check_version(where, stored)
    episodes = stored.get("total_episodes")
    if type(episodes) is not int or episodes < 0:
        raise UserError(f"{where}: 'total_episodes' is {shown(episodes)}; expected a number.")
    observations = _layout(where, "observation_space", _space(where, stored, "observation_space"))
    actions = _actions(where, _space(where, stored, "action_space"))
    return MinariMetadata(episodes, observations, actions, _facts(where, stored))


def _check_version(where: str, stored: Mapping[str, object]) -> None:
    version, kind = stored.get("minari_version"), stored.get("data_format", "hdf5")
    if not isinstance(version, str) or not _VERSION.fullmatch(version):
        raise UserError(
            f"{where} cannot be read as a Minari dataset: it is of version {shown(version)}, and "
            "versions 0.4 and 0.5 are read. Fetch another version of it."
        )
    if kind != "hdf5":
        raise UserError(
            f"{where}: the data are stored as {shown(kind)}; only 'hdf5' is read. Convert the "
            "dataset with Minari."
        )


def _space(where: str, stored: Mapping[str, object], key: str) -> Mapping[str, object]:
    text = stored.get(key)
    space = parse_json(text, f"{where}, '{key}'") if isinstance(text, str) else None
    if not isinstance(space, dict) or not isinstance(space.get("type"), str):
        raise UserError(
            f"{where}: '{key}' is {shown(text)}; expected a space as Minari 0.5 writes it. The "
            "environment is not made to find out."
        )
    return space


def _layout(where: str, key: str, space: object) -> ObservationLayout:
    """The observation space; a Dict's parts by sorted name, as Gymnasium flattens them."""
    kind = space.get("type") if isinstance(space, dict) else None
    parts = space.get("subspaces") if isinstance(space, dict) else None
    if kind == "Dict" and isinstance(parts, dict) and parts:
        return {name: _layout(where, key, parts[name]) for name in sorted(parts)}
    if kind == "Tuple" and isinstance(parts, list) and parts:
        return {f"_index_{i}": _layout(where, key, part) for i, part in enumerate(parts)}
    if kind == "Box" and isinstance(space, dict):
        shape = _shape(where, key, space)
        if len(shape) > 1 and min(shape[:2]) >= _IMAGE_SIDE and space.get("dtype") == "uint8":
            raise UserError(f"{where}: its observations are images; expected vectors of numbers.")
        return Box(shape)
    raise UserError(
        f"{where}: '{key}' has a part of type {shown(kind)}; expected a Box of numbers, or a Dict "
        "or Tuple of such. Wrap the environment with FlattenObservation and record again."
    )


def _actions(where: str, space: Mapping[str, object]) -> Box:
    kind = space["type"]
    if kind != "Box":
        size = f"({space['n']})" if type(space.get("n")) is int else ""
        raise UserError(f"{where} has actions in {listed([kind])}{size}; {_CONTINUOUS}.")
    shape = _shape(where, "action_space", space)
    if len(shape) != 1:
        raise UserError(f"{where} has actions of shape {shape}; {_CONTINUOUS}.")
    low, high = (_bounds(where, space.get(side), shape) for side in ("low", "high"))
    return Box(shape, low, high)


def _shape(where: str, key: str, space: Mapping[str, object]) -> tuple[int, ...]:
    shape = space.get("shape")
    if isinstance(shape, list) and len(shape) <= 8:
        plain = all(type(n) is int and n > 0 for n in shape)
        if plain and prod(shape) <= _LARGEST_BOX:
            return tuple(shape)
    raise UserError(f"{where}: '{key}' has the shape {shown(shape)}; expected sizes above 0.")


def _bounds(where: str, values: object, shape: tuple[int, ...]) -> np.ndarray:
    numbers = values if isinstance(values, list) else []
    if len(numbers) == shape[0] and all(type(v) in (int, float) for v in numbers):
        return np.array(numbers, np.float64)
    raise UserError(f"{where}: a bound of 'action_space' is {shown(values)}; expected numbers.")


def _facts(where: str, stored: Mapping[str, object]) -> dict[str, object]:
    """The dataset's name and the environment's; the entry point that comes with it is not read."""
    origin = {"minari_id": stored.get("dataset_id")}
    facts: dict[str, object] = {"provenance": checked_object(where, "dataset_id", origin)}
    text = stored.get("env_spec")
    if text is None:
        return facts
    spec = parse_json(text, f"{where}, 'env_spec'") if isinstance(text, str) else text
    spec = checked_object(where, "env_spec", spec)
    kwargs = checked_object(where, "env_spec", spec.get("kwargs") or {})
    return {**facts, "env_id": checked_env_id(where, spec.get("id")), "env_kwargs": kwargs}
