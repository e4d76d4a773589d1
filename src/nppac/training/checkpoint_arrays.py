"""Whether arrays are what a checkpoint holds; a checksum does not say that, anybody can write one.

Whatever is read from a checkpoint has passed here, so that nothing after it meets a text where a
number belongs.
"""

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from nppac.utils.errors import UserError

MOST_COUNTED = 2**62
MOST_EPISODES = 2**20
"""As many as the tests of a policy may have, rounded up; they become Python's numbers."""
PROGRESS_COUNTS = ("epoch", "env_steps", "episodes", "updates")
INCUMBENT_COUNTS = ("env_steps", "challenges", "promotions", "test_steps", "challenger_from")
INCUMBENT_SERIES = ("scores", "returns", "differences")
CONTENDER = "incumbent/contender"
REPLAY_COUNTS = ("position", "size")
_COUNTS = {
    *(f"progress/{name}" for name in PROGRESS_COUNTS),
    *(f"incumbent/{name}" for name in INCUMBENT_COUNTS),
    *(f"replay/{name}" for name in REPLAY_COUNTS),
    f"{CONTENDER}/env_steps",
}
_NUMBERS = {"progress/wall_seconds", "incumbent/unit", f"{CONTENDER}/margin"}
_SIGNED = {f"{CONTENDER}/best"}
_SERIES = {f"incumbent/{name}" for name in INCUMBENT_SERIES}


class DamagedCheckpoint(UserError):
    """A checkpoint that cannot be read, or is not what was written."""


def check_checkpoint(path: str | Path, arrays: Mapping[str, np.ndarray]) -> None:
    """Refuse an array of another kind, shape or range than a checkpoint has under its name."""
    for name, array in arrays.items():
        if not _is_sound(name, array):
            found = f"is {array.item()!r:.40}" if array.ndim == 0 else f"is of shape {array.shape}"
            raise DamagedCheckpoint(
                f"{path} is no sound checkpoint: '{name}' {found} and of type {array.dtype}, which "
                "does not belong there."
            )
    rows = {len(array) for name, array in arrays.items() if name.startswith("replay/.")}
    if not {"replay/size", "replay/position"} <= arrays.keys():
        return  # who reads them complains
    size, position = int(arrays["replay/size"]), int(arrays["replay/position"])
    if rows != {size} or position > size:
        raise DamagedCheckpoint(
            f"{path} is no sound checkpoint: its replay is said to hold {size} transitions and to "
            f"go on at {position}, but its arrays have {sorted(rows)} rows."
        )


def _is_sound(name: str, array: np.ndarray) -> bool:
    """Whether an array may have that name."""
    kind, shape = array.dtype.kind, array.shape
    if name in _COUNTS:
        return kind in "iu" and shape == () and 0 <= int(array) < MOST_COUNTED
    if name in _NUMBERS:
        return kind == "f" and shape == () and 0 <= float(array) < np.inf
    if name in _SIGNED:
        return kind == "f" and shape == () and bool(np.isfinite(array))
    if name in _SERIES:
        return kind == "f" and array.ndim == 1 and len(array) <= MOST_EPISODES
    if name.startswith("replay/."):
        return kind == "f" and array.ndim >= 1
    return kind in "fiub"
