"""The whole training state in one file, written atomically and without pickle.

Random streams need no saving: every key and every episode's seed is derived from the run's seed
and a counter, and the counters are here.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from nppac.agents.base import State
from nppac.agents.replay import Replay, filled_arrays, restore
from nppac.types import ReferenceStats
from nppac.utils.errors import UserError
from nppac.utils.files import read_arrays, write_arrays

FORMAT = 1


@dataclass(frozen=True)
class Progress:
    """Where a run stands, at the end of an epoch."""

    epoch: int = 0
    env_steps: int = 0
    episodes: int = 0
    updates: int = 0
    wall_seconds: float = 0.0


def save_checkpoint(path: str | Path, progress: Progress, state: State, replay: Replay) -> None:
    """Write progress, networks, optimisers and replay."""
    arrays = {"format": np.array(FORMAT)}
    arrays |= {f"progress/{name}": np.array(value) for name, value in vars(progress).items()}
    arrays |= {f"state/{name}": np.asarray(leaf) for name, leaf in _named_leaves(state)}
    arrays |= {f"replay/{name}": array for name, array in filled_arrays(replay).items()}
    write_arrays(path, arrays)


def load_checkpoint(
    path: str | Path, state: State, replay: Replay
) -> tuple[Progress, State, Replay]:
    """Read a checkpoint into the shapes of a fresh `state` and an empty `replay`."""
    arrays = _read(path)
    progress = Progress(
        **{name: arrays[f"progress/{name}"].item() for name in Progress.__dataclass_fields__}
    )
    prefix = "replay/"
    stored = {name.removeprefix(prefix): a for name, a in arrays.items() if name.startswith(prefix)}
    return progress, _refill(path, state, arrays), restore(replay, stored)


def load_state(path: str | Path, state: State) -> State:
    """Read only the agent's state, for evaluation."""
    return _refill(path, state, _read(path))


def load_visited(path: str | Path) -> tuple[np.ndarray, ReferenceStats]:
    """Read only the states of the replay, oldest first, and what the reference says there."""
    arrays = _read(path)
    names = ("replay/.obs", "replay/.reference.loc", "replay/.reference.scale")
    # A full ring's oldest row is where the next one goes; in any other the shift is by its size.
    oldest = int(arrays["replay/position"])
    obs, loc, scale = (np.roll(arrays[name], -oldest, axis=0) for name in names)
    return obs, ReferenceStats(loc, scale)


def _read(path: str | Path) -> dict[str, np.ndarray]:
    arrays = read_arrays(path)
    if int(arrays.get("format", np.array(-1))) != FORMAT:
        raise UserError(f"{path} is not a checkpoint of this version of nppac.")
    return arrays


def _named_leaves(tree: Any) -> list[tuple[str, Any]]:
    leaves, _ = jax.tree_util.tree_flatten_with_path(tree)
    return [(jax.tree_util.keystr(path), leaf) for path, leaf in leaves]


def _refill(path: str | Path, state: State, arrays: dict[str, np.ndarray]) -> State:
    def leaf(key_path: Any, fresh: Any) -> Any:
        stored = arrays.get(f"state/{jax.tree_util.keystr(key_path)}")
        if stored is None or stored.shape != fresh.shape:
            raise UserError(
                f"{path} does not fit this agent at {jax.tree_util.keystr(key_path)}: expected "
                f"shape {fresh.shape}, found {None if stored is None else stored.shape}. The "
                "configuration beside the checkpoint must be the one that made it."
            )
        return jnp.asarray(stored, fresh.dtype)

    return jax.tree_util.tree_map_with_path(leaf, state)
