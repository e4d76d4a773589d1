"""A FIFO ring buffer of transitions on the device, with the reference's statistics at each state.

The reference is frozen, so it is queried once for every new observation and its statistics are
stored. A gradient step reads two arrays and never evaluates a Gaussian process or a network.
"""

from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int, PRNGKeyArray

from nppac.types import Batch, NStepOutcome, ReferenceStats
from nppac.utils.errors import UserError


class Replay(NamedTuple):
    """Storage with a leading capacity axis; rows [0, size) are filled."""

    storage: Batch
    position: Int[Array, ""]
    size: Int[Array, ""]

    @property
    def capacity(self) -> int:
        """The number of transitions that fit."""
        return self.storage.reward.shape[0]


def empty_replay(capacity: int, obs_dim: int, action_dim: int) -> Replay:
    """A replay without transitions."""

    def zeros(*dims: int) -> Array:
        return jnp.zeros((capacity, *dims), jnp.float32)

    def stats() -> ReferenceStats:
        return ReferenceStats(zeros(action_dim), zeros(action_dim))

    storage = Batch(
        zeros(obs_dim),
        zeros(action_dim),
        zeros(),
        zeros(obs_dim),
        zeros(),
        stats(),
        stats(),
        zeros(),
    )
    # Distinct buffers: both are donated, and one buffer cannot be donated twice.
    return Replay(storage, jnp.array(0, jnp.int32), jnp.array(0, jnp.int32))


@partial(jax.jit, donate_argnums=0)
def insert(replay: Replay, batch: Batch) -> Replay:
    """Append transitions, overwriting the oldest ones at capacity."""
    count, capacity = batch.reward.shape[0], replay.capacity
    rows = (replay.position + jnp.arange(count)) % capacity
    storage = jax.tree.map(lambda old, new: old.at[rows].set(new), replay.storage, batch)
    return Replay(
        storage, (replay.position + count) % capacity, jnp.minimum(replay.size + count, capacity)
    )


def sample_rows(
    replay: Replay, key: PRNGKeyArray, updates: int, batch_size: int
) -> Int[Array, "updates batch"]:
    """Row numbers of a whole scan of minibatches, uniform over the filled rows."""
    return jax.random.randint(key, (updates, batch_size), 0, replay.size)


def take(replay: Replay, rows: Int[Array, "*batch"]) -> Batch:
    """The minibatch, or minibatches, at these rows."""
    return jax.tree.map(lambda array: array[rows], replay.storage)


def n_step_outcome(
    replay: Replay, rows: Int[Array, " batch"], steps: int, discount: float
) -> NStepOutcome:
    """The discounted rewards of up to `steps` steps from each row on, and the state after them.

    Rows of an episode are consecutive in the buffer, so that the next row is the next step until
    `episode_end`. The newest row always ends an episode.
    """
    window = (rows[:, None] + jnp.arange(steps)) % replay.capacity
    reward, mask, end = (
        column[window]
        for column in (
            replay.storage.reward,
            replay.storage.discount_mask,
            replay.storage.episode_end,
        )
    )
    ended_before = jnp.cumsum(end, axis=1) - end
    inside = (ended_before == 0).astype(jnp.float32)
    powers = discount ** jnp.arange(steps)
    length = jnp.sum(inside, axis=1)
    last = (rows + length.astype(jnp.int32) - 1) % replay.capacity
    return NStepOutcome(
        reward=jnp.sum(inside * powers * reward, axis=1),
        obs=replay.storage.next_obs[last],
        discount=discount**length * jnp.prod(jnp.where(inside > 0, mask, 1.0), axis=1),
        reference=jax.tree.map(lambda column: column[last], replay.storage.next_reference),
    )


def as_replay(batch: Batch) -> Replay:
    """A replay that holds exactly these transitions."""
    count = jnp.array(len(batch.reward), jnp.int32)
    return Replay(jax.tree.map(jnp.asarray, batch), jnp.array(0, jnp.int32), count)


def filled_arrays(replay: Replay) -> dict[str, np.ndarray]:
    """The filled rows and the buffer's counters as named arrays, for a checkpoint."""
    size = int(replay.size)
    leaves, _ = jax.tree_util.tree_flatten_with_path(replay.storage)
    arrays = {
        jax.tree_util.keystr(path): np.array(np.asarray(leaf)[:size]) for path, leaf in leaves
    }
    return {**arrays, "position": np.asarray(replay.position), "size": np.asarray(replay.size)}


def restore(replay: Replay, arrays: dict[str, np.ndarray]) -> Replay:
    """An empty replay refilled from `filled_arrays`, perhaps of another capacity.

    A full buffer of the same capacity keeps its rows in place, so that a resumed run samples what
    the uninterrupted one would have. Every other is written oldest first.
    """
    position, size = int(arrays["position"]), int(arrays["size"])
    kept = min(size, replay.capacity)
    same = size == replay.capacity

    def refill(path: tuple[object, ...], leaf: Array) -> Array:
        stored = arrays.get(jax.tree_util.keystr(path))
        if stored is None:
            raise UserError(
                f"The checkpoint's replay lacks '{jax.tree_util.keystr(path)}': another version of "
                "nppac made it. Its policy can still be evaluated; to train on, start anew."
            )
        rows = stored if same else np.roll(stored, -position, axis=0)[size - kept :]
        refilled = np.array(leaf)
        refilled[:kept] = rows
        return jnp.asarray(refilled)

    storage = jax.tree_util.tree_map_with_path(refill, replay.storage)
    position = (position if same else kept) % replay.capacity
    return Replay(storage, jnp.array(position, jnp.int32), jnp.array(kept, jnp.int32))
