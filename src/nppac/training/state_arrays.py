"""An agent's state as named arrays of a checkpoint, and back."""

from collections.abc import Mapping
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

from nppac.agents.base import State
from nppac.types import AnyArray
from nppac.utils.errors import UserError

SINCE_FORMAT_1 = {".value_shift": np.array(0.0), ".value_scale": np.array(1.0)}
"""What older checkpoints lack: the values of their critics are in the rewards' units."""


def named_leaves(tree: State) -> list[tuple[str, AnyArray]]:
    """Every array of a state with its place in it."""
    leaves, _ = jax.tree_util.tree_flatten_with_path(tree)
    return [(jax.tree_util.keystr(path), leaf) for path, leaf in leaves]


def state_arrays(state: State, prefix: str) -> dict[str, np.ndarray]:
    """A state's arrays for a checkpoint, each named by its place."""
    return {f"{prefix}{name}": np.asarray(leaf) for name, leaf in named_leaves(state)}


def refilled(
    path: str | Path, state: State, arrays: Mapping[str, np.ndarray], prefix: str
) -> State:
    """The state of a checkpoint, in the shapes of `state`."""

    def leaf(key_path: jax.tree_util.KeyPath, fresh: AnyArray | jax.ShapeDtypeStruct) -> jax.Array:
        name = jax.tree_util.keystr(key_path)
        stored = arrays.get(f"{prefix}{name}", SINCE_FORMAT_1.get(name))
        if stored is None or stored.shape != fresh.shape:
            raise UserError(
                f"{path} does not fit this agent at {name}: expected shape {fresh.shape}, found "
                f"{None if stored is None else stored.shape}. The configuration beside the "
                "checkpoint must be the one that made it."
            )
        return jnp.asarray(stored, fresh.dtype)

    return jax.tree_util.tree_map_with_path(leaf, state)
