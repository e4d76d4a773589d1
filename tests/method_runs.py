"""What the tests of several methods share: a random minibatch, and a short run from demos."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np

from nppac.evaluation.metrics import load_metrics
from nppac.references import UniformReference
from nppac.tasks import get_task, make_env
from nppac.tasks.rollout import rollout
from nppac.training.loop import train_to_end
from nppac.training.problem import Problem
from nppac.types import Batch, ReferenceStats
from toy_task import ACTION_DIM, OBS_DIM, SCHEDULE, TASK, expert

BATCH = 16


def make_batch(count=BATCH):
    """Random transitions, the first of them terminal."""
    rng, width = np.random.default_rng(7), (count, ACTION_DIM)
    stats = ReferenceStats(np.zeros(width), np.ones(width))
    batch = Batch(
        obs=rng.normal(size=(count, OBS_DIM)),
        action=rng.uniform(-1, 1, width),
        reward=rng.normal(size=count),
        next_obs=rng.normal(size=(count, OBS_DIM)),
        discount_mask=np.minimum(np.arange(count), 1),
        reference=stats,
        next_reference=stats,
        episode_end=np.zeros(count),
    )
    return jax.tree.map(lambda column: jnp.asarray(column.astype(np.float32)), batch)


def stacked(batch):
    """The batch as the only minibatch of an update, with the leading axis of a UTD ratio of 1."""
    return jax.tree.map(lambda column: column[None], batch)


def train_on_demos(agent, directory):
    """A short run with rewarded demonstrations in the replay, and its metrics.

    Learning offline takes as many updates as an epoch, from as many rows as the replay has: what is
    compiled for the one serves the other.
    """
    spec = get_task(TASK)
    demos = tuple(rollout([make_env(spec)], expert, range(3)))
    problem = Problem(
        env=make_env(spec),
        eval_envs=(make_env(spec),),
        reference=UniformReference(ACTION_DIM),
        demos=demos,
        obs_dim=OBS_DIM,
        action_dim=ACTION_DIM,
    )
    schedule = replace(
        SCHEDULE,
        demos_in_replay=True,
        offline_updates=SCHEDULE.updates_per_epoch,
        replay_capacity=sum(map(len, demos)),
    )
    run = train_to_end(problem, agent, schedule, 0, directory)
    return run, load_metrics(directory / "metrics.csv")
