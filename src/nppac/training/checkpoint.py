"""The whole training state in one file, written atomically and without pickle.

Random streams need no saving: every key and every episode's seed is derived from the run's seed
and a counter, and the counters are here.
"""

import os
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, TypeVar

import jax
import jax.numpy as jnp
import numpy as np

from nppac.agents.base import State
from nppac.agents.replay import Replay, filled_arrays, restore
from nppac.training.checkpoint_arrays import (
    INCUMBENT_COUNTS,
    INCUMBENT_SERIES,
    DamagedCheckpoint,
    check_checkpoint,
)
from nppac.training.directory import CHECKPOINT_FILE, DAMAGED_FILE, PREVIOUS_FILE
from nppac.training.incumbent import Incumbent
from nppac.types import AnyArray, ReferenceStats
from nppac.utils.errors import UserError
from nppac.utils.files import read_arrays, write_arrays

FORMAT = 1
SINCE_FORMAT_1 = {".value_shift": np.array(0.0), ".value_scale": np.array(1.0)}
"""What older checkpoints lack: the values of their critics are in the rewards' units."""
T = TypeVar("T")


@dataclass(frozen=True)
class Progress:
    """Where a run stands, at the end of an epoch."""

    epoch: int = 0
    env_steps: int = 0
    episodes: int = 0
    updates: int = 0
    wall_seconds: float = 0.0


class Checkpoint(NamedTuple):
    """A run as its checkpoint has it."""

    progress: Progress
    state: State
    replay: Replay
    incumbent: Incumbent


def save_checkpoint(
    path: str | Path,
    progress: Progress,
    state: State,
    replay: Replay,
    incumbent: Incumbent | None = None,
) -> None:
    """Write progress, networks, optimisers and replay; the checkpoint before is kept beside."""
    arrays = {"format": np.array(FORMAT)}
    arrays |= _incumbent_arrays(incumbent) if incumbent is not None else {}
    arrays |= {f"progress/{name}": np.array(value) for name, value in vars(progress).items()}
    arrays |= {f"state/{name}": np.asarray(leaf) for name, leaf in _named_leaves(state)}
    arrays |= {f"replay/{name}": array for name, array in filled_arrays(replay).items()}
    write_arrays(path, arrays, keep=Path(path).with_name(PREVIOUS_FILE))


def load_checkpoint(path: str | Path, state: State, replay: Replay) -> Checkpoint:
    """Read a checkpoint into the shapes of a `state` and an empty `replay`."""
    arrays = _read(path)
    _check_finite(path, arrays, "replay/")
    _check_finite(path, arrays, "state/")
    _check_finite(path, arrays, "incumbent/")
    prefix = "replay/"
    stored = {name.removeprefix(prefix): a for name, a in arrays.items() if name.startswith(prefix)}
    try:
        progress = Progress(
            **{name: arrays[f"progress/{name}"].item() for name in Progress.__dataclass_fields__}
        )
        filled = _refill(path, state, arrays), restore(replay, stored)
        return Checkpoint(progress, *filled, _incumbent(path, state, arrays))
    except (KeyError, TypeError, ValueError) as error:
        raise DamagedCheckpoint(f"{path} is no complete checkpoint: {error}.") from error


def load_newest(directory: Path, state: State, replay: Replay) -> Checkpoint | None:
    """The newest checkpoint that can be read, to train on from it; None if there is none.

    A damaged one is set aside, so that it never takes the place of a sound one.
    """
    newest = directory / CHECKPOINT_FILE
    found = newest_readable(directory, lambda path: load_checkpoint(path, state, replay))
    if found is None:
        return None
    path, loaded = found
    if path != newest:
        with suppress(OSError):
            os.replace(newest, directory / DAMAGED_FILE)
    return loaded


def newest_readable(directory: Path, read: Callable[[Path], T]) -> tuple[Path, T] | None:
    """What `read` makes of the newest checkpoint; if that is damaged, of the one before it."""
    newest, previous = directory / CHECKPOINT_FILE, directory / PREVIOUS_FILE
    problem = DamagedCheckpoint(f"{newest} is missing.")
    if newest.exists():
        try:
            return newest, read(newest)
        except DamagedCheckpoint as error:
            problem = error
    elif not previous.exists():
        return None
    if not previous.exists():
        raise problem
    try:
        found = read(previous)
    except DamagedCheckpoint:
        raise problem from None
    print(f"{problem} The checkpoint before it, {previous}, is used instead.", file=sys.stderr)
    return previous, found


def load_state(path: str | Path, state: State) -> State:
    """Read only the agent's state, for evaluation."""
    arrays = _read(path)
    _check_finite(path, arrays, "state/")
    return _refill(path, state, arrays)


def load_incumbent(path: str | Path, state: State) -> Incumbent | None:
    """Read only the incumbent; None in a run that makes no tests, whose policy is the newest."""
    arrays = _read(path)
    _check_finite(path, arrays, "incumbent/")
    found = _incumbent(path, state, arrays)
    return found if found.challenges else None


def _incumbent_arrays(incumbent: Incumbent) -> dict[str, np.ndarray]:
    """The incumbent's arrays for a checkpoint; the reference's mean has no networks."""
    names = (*INCUMBENT_COUNTS, "unit", *INCUMBENT_SERIES)
    arrays = {f"incumbent/{name}": np.array(getattr(incumbent, name)) for name in names}
    if incumbent.state is None:
        return arrays
    leaves = _named_leaves(incumbent.state)
    return arrays | {f"incumbent/state/{name}": np.asarray(leaf) for name, leaf in leaves}


def _incumbent(path: str | Path, state: State, arrays: dict[str, np.ndarray]) -> Incumbent:
    """The incumbent of a checkpoint; older ones have none, and begin with the reference's mean."""
    if "incumbent/challenges" not in arrays:
        return Incumbent()
    known = any(name.startswith("incumbent/state/") for name in arrays)
    networks = _refill(path, state, arrays, "incumbent/state/") if known else None
    steps, challenges, promotions, test_steps = (
        int(arrays[f"incumbent/{name}"]) for name in INCUMBENT_COUNTS
    )
    stored = (arrays.get(f"incumbent/{name}", np.zeros(0)) for name in INCUMBENT_SERIES)
    series = (tuple(column.tolist()) for column in stored)  # older checkpoints lack the last
    unit = float(arrays["incumbent/unit"])
    return Incumbent(networks, steps, challenges, promotions, test_steps, unit, *series)


def load_visited(path: str | Path) -> tuple[np.ndarray, ReferenceStats]:
    """Read only the states of the replay, oldest first, and what the reference says there."""
    arrays = _read(path)
    names = ("replay/.obs", "replay/.reference.loc", "replay/.reference.scale")
    missing = [name for name in ("replay/position", *names) if name not in arrays]
    if missing:
        raise DamagedCheckpoint(f"{path} is no complete checkpoint: '{missing[0]}' is missing.")
    _check_finite(path, arrays, "replay/")
    # A full ring's oldest row is where the next one goes; in any other the shift is by its size.
    oldest = int(arrays["replay/position"])
    obs, loc, scale = (np.roll(arrays[name], -oldest, axis=0) for name in names)
    return obs, ReferenceStats(loc, scale)


def _read(path: str | Path) -> dict[str, np.ndarray]:
    try:
        arrays = read_arrays(path, checked=True)
    except UserError as error:
        if isinstance(error.__cause__, PermissionError | FileNotFoundError):
            raise
        raise DamagedCheckpoint(str(error)) from error
    if not np.array_equal(arrays.get("format", -1), FORMAT):
        raise UserError(f"{path} is not a checkpoint of this version of nppac.")
    check_checkpoint(path, arrays)
    return arrays


def _check_finite(path: str | Path, arrays: dict[str, np.ndarray], prefix: str) -> None:
    """Refuse numbers that would poison everything that is computed from them."""
    for name, array in arrays.items():
        if not name.startswith(prefix) or not np.issubdtype(array.dtype, np.floating):
            continue
        bad = np.argwhere(~np.isfinite(array))
        if len(bad):
            place = tuple(int(i) for i in bad[0])
            raise UserError(
                f"{path} holds {array[place]:g} in '{name}' at {list(place)}, and {len(bad)} such "
                "numbers there in all: the run had diverged, or its environment had. Train anew; "
                f"{PREVIOUS_FILE} beside it may be older than that."
            )


def _named_leaves(tree: State) -> list[tuple[str, AnyArray]]:
    leaves, _ = jax.tree_util.tree_flatten_with_path(tree)
    return [(jax.tree_util.keystr(path), leaf) for path, leaf in leaves]


def require_finite(state: State) -> None:
    """Refuse networks that the last updates have broken: no mean of measurements shows that yet.

    By NumPy: JAX would compile two programs for every shape of an array.
    """
    for name, leaf in _named_leaves(state):
        if jnp.issubdtype(leaf.dtype, jnp.floating) and not np.isfinite(leaf).all():
            raise UserError(
                f"Training diverged: {name} became NaN or infinite. The checkpoint before it is "
                "kept. A reference whose variance is nearly zero does this: use the GP, a "
                "variance floor, or a smaller temperature."
            )


def _refill(
    path: str | Path, state: State, arrays: dict[str, np.ndarray], prefix: str = "state/"
) -> State:
    def leaf(key_path: jax.tree_util.KeyPath, fresh: AnyArray | jax.ShapeDtypeStruct) -> jax.Array:
        name = jax.tree_util.keystr(key_path)
        stored = arrays.get(f"{prefix}{name}", SINCE_FORMAT_1.get(name))
        if stored is None or stored.shape != fresh.shape:
            raise UserError(
                f"{path} does not fit this agent at {jax.tree_util.keystr(key_path)}: expected "
                f"shape {fresh.shape}, found {None if stored is None else stored.shape}. The "
                "configuration beside the checkpoint must be the one that made it."
            )
        return jnp.asarray(stored, fresh.dtype)

    return jax.tree_util.tree_map_with_path(leaf, state)
