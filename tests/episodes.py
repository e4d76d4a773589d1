"""Random episodes in a replay, for the methods that learn from whole ones."""

import jax
import numpy as np

from nppac.agents.replay import empty_replay, insert
from nppac.types import Batch, ReferenceStats

KEY = jax.random.key(0)


def episode_batch(rows, obs_dim=3, action_dim=2, seed=0, length=10):
    """Random episodes of the given length; every other one terminates."""
    rng = np.random.default_rng(seed)
    end = (np.arange(rows) % length == length - 1).astype(np.float32)
    end[-1] = 1.0
    mask = 1.0 - end * (np.arange(rows) // length % 2)
    stats = ReferenceStats(np.zeros((rows, action_dim), np.float32), np.ones((rows, action_dim)))
    obs = rng.normal(2.0, 3.0, (rows, obs_dim)).astype(np.float32)
    return Batch(
        obs=obs,
        action=rng.uniform(-1, 1, (rows, action_dim)).astype(np.float32),
        reward=rng.normal(size=rows).astype(np.float32),
        next_obs=np.roll(obs, -1, axis=0),
        discount_mask=mask.astype(np.float32),
        reference=stats,
        next_reference=stats,
        episode_end=end,
    )


def episode_replay(capacity, *sizes, **settings):
    """A replay into which so many rows were put, one batch after another."""
    replay = empty_replay(capacity, settings.get("obs_dim", 3), settings.get("action_dim", 2))
    for i, size in enumerate(sizes):
        replay = insert(replay, episode_batch(size, seed=i, **settings))
    return replay


def with_dirt(replay, start):
    """The same replay with other leavings in its rows from `start` on, which are empty."""
    storage = replay.storage
    obs, next_obs, action, reward = (
        column.at[start:].set(7.0)
        for column in (storage.obs, storage.next_obs, storage.action, storage.reward)
    )
    storage = storage._replace(obs=obs, next_obs=next_obs, action=action, reward=reward)
    return replay._replace(storage=storage)
