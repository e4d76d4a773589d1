"""A FIFO ring of transitions on the device, with the reference's statistics beside each state.

The reference is frozen, so it is asked once for every new observation and its answer is stored: a
gradient step reads two arrays and never sees a Gaussian process or a network.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int, PRNGKeyArray

from nppac.errors import UserError
from nppac.references.checks import checked_answer
from nppac.types import Ahead, Batch, Episode, ReferenceStats


class Replay(NamedTuple):
    """Storage with a leading capacity axis; rows [0, size) are filled."""

    storage: Batch
    position: Int[Array, ""]
    size: Int[Array, ""]

    @property
    def capacity(self) -> int:
        """How many transitions fit."""
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


def look_ahead(replay: Replay, rows: Int[Array, " batch"], steps: int, discount: float) -> Ahead:
    """The discounted rewards of up to `steps` steps from each row on, and where they lead.

    Rows of an episode follow one another in the ring, so that the next row is the next step until
    `episode_end`; the newest row always is one.
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
    return Ahead(
        reward=jnp.sum(inside * powers * reward, axis=1),
        obs=replay.storage.next_obs[last],
        discount=discount**length * jnp.prod(jnp.where(inside > 0, mask, 1.0), axis=1),
        reference=jax.tree.map(lambda column: column[last], replay.storage.next_reference),
    )


def demonstrations(
    episodes: Sequence[Episode], ask: Callable[[np.ndarray], ReferenceStats]
) -> Batch:
    """Demonstrations as one batch of transitions; rewards that nobody recorded are NaN.

    So a method that needs rewards cannot go on without them unnoticed. An episode that lacks its
    last observation loses its last step, whose outcome is unknown.
    """
    return transitions([_complete(episode) for episode in episodes], ask)


def _complete(episode: Episode) -> Episode:
    steps = min(len(episode), len(episode.observations) - 1)
    unknown = np.full(len(episode), np.nan, np.float32)
    rewards = unknown if episode.rewards is None else episode.rewards
    cut = steps < len(episode)
    return replace(
        episode,
        observations=episode.observations[: steps + 1],
        actions=episode.actions[:steps],
        rewards=np.asarray(rewards[:steps], np.float32),
        successes=None,
        terminated=episode.terminated and not cut,
    )


def as_replay(batch: Batch) -> Replay:
    """A replay that is full of exactly these transitions."""
    count = jnp.array(len(batch.reward), jnp.int32)
    return Replay(jax.tree.map(jnp.asarray, batch), jnp.array(0, jnp.int32), count)


def transitions(episodes: Sequence[Episode], ask: Callable[[np.ndarray], ReferenceStats]) -> Batch:
    """The episodes as one batch; `ask` is called once, with every new observation once."""
    observations = np.concatenate([episode.observations for episode in episodes])
    stats = checked_stats(ask(observations), observations)
    first = _rows(episodes)
    return Batch(
        obs=observations[first],
        action=np.concatenate([episode.actions for episode in episodes]),
        reward=np.concatenate([rewards_of(episode) for episode in episodes]),
        next_obs=observations[first + 1],
        discount_mask=np.concatenate([_discount_mask(episode) for episode in episodes]),
        reference=_select(stats, first),
        next_reference=_select(stats, first + 1),
        episode_end=np.concatenate([_episode_end(episode) for episode in episodes]),
    )


def checked_stats(stats: ReferenceStats, observations: np.ndarray) -> ReferenceStats:
    """`stats`, or an error that says what is wrong with them and where."""
    return checked_answer(stats, len(observations))


def _rows(episodes: Sequence[Episode]) -> np.ndarray:
    starts = np.cumsum([0] + [len(episode.observations) for episode in episodes[:-1]])
    return np.concatenate(
        [start + np.arange(len(ep)) for start, ep in zip(starts, episodes, strict=True)]
    )


def rewards_of(episode: Episode) -> np.ndarray:
    """The episode's rewards, or an error where it has none."""
    if episode.rewards is None:
        raise UserError("These episodes have no rewards, and a replay for a critic needs them.")
    return np.asarray(episode.rewards, np.float32)


def _discount_mask(episode: Episode) -> np.ndarray:
    """1 everywhere but at a true termination; a time limit keeps bootstrapping."""
    mask = np.ones(len(episode), np.float32)
    mask[-1] = 0.0 if episode.terminated else 1.0
    return mask


def _episode_end(episode: Episode) -> np.ndarray:
    end = np.zeros(len(episode), np.float32)
    end[-1] = 1.0
    return end


def _select(stats: ReferenceStats, rows: np.ndarray) -> ReferenceStats:
    return ReferenceStats(stats.loc[rows], stats.scale[rows])


def filled_arrays(replay: Replay) -> dict[str, Any]:
    """The filled rows and the ring's counters as named arrays, for a checkpoint."""
    size = int(replay.size)
    leaves, _ = jax.tree_util.tree_flatten_with_path(replay.storage)
    arrays = {jax.tree_util.keystr(path): np.asarray(leaf[:size]) for path, leaf in leaves}
    return {**arrays, "position": np.asarray(replay.position), "size": np.asarray(replay.size)}


def restore(replay: Replay, arrays: dict[str, np.ndarray]) -> Replay:
    """An empty replay refilled from `filled_arrays`; its ring may be another size than theirs.

    A full ring of the same capacity keeps its rows where they were, so that a resumed run samples
    what the uninterrupted one would have. Any other is laid out anew, oldest first.
    """
    position, size = int(arrays["position"]), int(arrays["size"])
    kept = min(size, replay.capacity)
    same = size == replay.capacity

    def refill(path: Any, leaf: Array) -> Array:
        stored = arrays.get(jax.tree_util.keystr(path))
        if stored is None:
            raise UserError(
                f"The checkpoint's replay lacks '{jax.tree_util.keystr(path)}': another version of "
                "nppac made it. Its policy can still be evaluated; to train on, start anew."
            )
        rows = stored if same else np.roll(stored, -position, axis=0)[size - kept :]
        return leaf.at[:kept].set(rows)

    storage = jax.tree_util.tree_map_with_path(refill, replay.storage)
    position = (position if same else kept) % replay.capacity
    return Replay(storage, jnp.array(position, jnp.int32), jnp.array(kept, jnp.int32))
