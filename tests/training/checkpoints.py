"""Checkpoints of a toy agent whose every row and leaf can be told from the others."""

from functools import cache

import jax
import numpy as np

from nppac.agents.replay import empty_replay, insert
from nppac.training.checkpoint import (
    Progress,
    load_checkpoint,
    load_newest,
)
from nppac.training.transitions import transitions
from nppac.training.updates import run_updates
from nppac.types import Episode, ReferenceStats
from toy_task import ACTION_DIM, AGENT, OBS_DIM

KEY = jax.random.key(3)


PROGRESS = Progress(epoch=3, env_steps=60, episodes=9, updates=40, wall_seconds=1.25)


def batch(start, length):
    """Transitions whose state, reward and reference tell which they are."""
    states = np.arange(start, start + length + 1, dtype=np.float32)[:, None] * np.ones(OBS_DIM)
    episode = Episode(
        states.astype(np.float32),
        np.zeros((length, ACTION_DIM), np.float32),
        np.arange(start, start + length, dtype=np.float32),
    )
    return transitions(
        [episode],
        lambda obs: ReferenceStats(obs[:, :ACTION_DIM], np.ones((len(obs), ACTION_DIM))),
    )


def ring(capacity, *lengths):
    replay, start = empty_replay(capacity, OBS_DIM, ACTION_DIM), 1
    for length in lengths:
        replay, start = insert(replay, batch(start, length)), start + length
    return replay


@cache
def trained_state():
    """A state none of whose leaves is as it was initialised."""
    state = AGENT.init(KEY, OBS_DIM, ACTION_DIM)
    return run_updates(AGENT, state, ring(60, 8), KEY, 20, 16, "normal")[0]


@cache
def fresh_state():
    """What a checkpoint is read into; nothing changes it."""
    return AGENT.init(jax.random.key(99), OBS_DIM, ACTION_DIM)


def newest(directory):
    return load_newest(directory, fresh_state(), empty_replay(8, OBS_DIM, ACTION_DIM))


def load_checkpoint_epoch(path):
    return load_checkpoint(path, fresh_state(), empty_replay(8, OBS_DIM, ACTION_DIM))[0].epoch
