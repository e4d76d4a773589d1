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

import jax.numpy as jnp
import numpy as np

from nppac.agents.base import State
from nppac.agents.replay import Replay, filled_arrays, restore
from nppac.training.checkpoint_arrays import DamagedCheckpoint, check_checkpoint
from nppac.training.directory import CHECKPOINT_FILE, DAMAGED_FILE, PREVIOUS_FILE
from nppac.training.incumbent import Incumbent
from nppac.training.incumbent_arrays import incumbent_arrays, stored_incumbent
from nppac.training.state_arrays import named_leaves, refilled, state_arrays
from nppac.types import ReferenceStats
from nppac.utils.errors import UserError
from nppac.utils.files import read_arrays, write_arrays

FORMAT = 1
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
    arrays |= incumbent_arrays(incumbent) if incumbent is not None else {}
    arrays |= {f"progress/{name}": np.array(value) for name, value in vars(progress).items()}
    arrays |= state_arrays(state, "state/")
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
        filled = refilled(path, state, arrays, "state/"), restore(replay, stored)
        return Checkpoint(progress, *filled, stored_incumbent(path, state, arrays))
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
    return refilled(path, state, arrays, "state/")


def load_incumbent(path: str | Path, state: State) -> Incumbent | None:
    """Read only the incumbent; None in a run that makes no tests, whose policy is the newest."""
    arrays = _read(path)
    _check_finite(path, arrays, "incumbent/")
    found = stored_incumbent(path, state, arrays)
    return found if found.challenges else None


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


def require_finite(state: State) -> None:
    """Refuse networks that the last updates have broken: no mean of measurements shows that yet.

    By NumPy: JAX would compile two programs for every shape of an array.
    """
    for name, leaf in named_leaves(state):
        if jnp.issubdtype(leaf.dtype, jnp.floating) and not np.isfinite(leaf).all():
            raise UserError(
                f"Training diverged: {name} became NaN or infinite. The checkpoint before it is "
                "kept. A reference whose variance is nearly zero does this: use the GP, a "
                "variance floor, or a smaller temperature."
            )
