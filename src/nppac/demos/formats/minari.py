"""Minari datasets, by id from the local store or by the directory that holds one."""

import re
from pathlib import Path
from typing import Any

import numpy as np
from gymnasium import spaces

from nppac.demos.build import build_episode
from nppac.demos.data import Demos
from nppac.types import Episode
from nppac.utils.errors import UserError

_ID = re.compile(r"(?:[-_\w]+/)*[-_\w]+-v\d+")


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
    import minari  # slow to import, and needed for this format alone

    try:
        dataset = minari.load_dataset(name)
    except FileNotFoundError:
        return None
    except Exception as error:
        raise _unreadable(f"Minari dataset {name}", error) from error
    return _demos(dataset, f"Minari {name}")


def read_minari_path(data: Path) -> Demos:
    """Demonstrations from the directory that holds a dataset's `metadata.json`."""
    import minari

    try:
        dataset = minari.MinariDataset(data)
    except Exception as error:
        raise _unreadable(str(data), error) from error
    return _demos(dataset, str(data))


def _unreadable(name: str, error: Exception) -> UserError:
    return UserError(
        f"{name} cannot be read as a Minari dataset: {error or type(error).__name__}. "
        "It may be damaged or made by an unsupported version; fetch it again."
    )


def _demos(dataset: Any, source: str) -> Demos:
    space = dataset.action_space
    if not isinstance(space, spaces.Box):
        raise UserError(f"{source} has actions in {space}; expected continuous ones (a Box).")
    try:
        found = list(dataset.iterate_episodes())
    except Exception as error:
        raise _unreadable(source, error) from error
    episodes = tuple(_episode(f"{source}, episode {i}", e, space) for i, e in enumerate(found))
    return Demos(episodes, source, _metadata(dataset))


def _episode(where: str, episode: Any, space: spaces.Box) -> Episode:
    steps = len(episode.rewards)
    return build_episode(
        where,
        _flatten(episode.observations),
        _normalise(np.asarray(episode.actions), space),
        rewards=episode.rewards,
        successes=_successes(episode.infos, steps),
        terminated=steps > 0 and episode.terminations[-1],
    )


def _flatten(observations: Any) -> np.ndarray:
    """One vector per step: parts of a dict or tuple side by side, as Gymnasium flattens them."""
    if isinstance(observations, dict | tuple):
        parts = observations.values() if isinstance(observations, dict) else observations
        return np.concatenate([_flatten(part) for part in parts], axis=1)
    array = np.asarray(observations)
    return array.reshape(len(array), -1) if len(array) else array.reshape(0, 0)


def _normalise(actions: np.ndarray, space: spaces.Box) -> np.ndarray:
    """From the space's bounds to [-1, 1], the range of every action in this project."""
    bounded = np.isfinite(space.low) & np.isfinite(space.high) & (space.high > space.low)
    low = np.where(bounded, space.low.astype(np.float64), -1.0)
    high = np.where(bounded, space.high.astype(np.float64), 1.0)
    return 2.0 * (actions - low) / (high - low) - 1.0


def _successes(infos: Any, steps: int) -> np.ndarray | None:
    """Success after each action; Minari stores the reset's info in front where it has one."""
    found = infos.get("success") if isinstance(infos, dict) else None
    return None if found is None or len(found) < steps else np.asarray(found)[len(found) - steps :]


def _metadata(dataset: Any) -> dict[str, Any]:
    spec = dataset.env_spec
    provenance = {"minari_id": dataset.id}
    if spec is None:
        return {"provenance": provenance}
    return {"env_id": spec.id, "env_kwargs": dict(spec.kwargs), "provenance": provenance}
