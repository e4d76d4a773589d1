"""A KL actor-critic of a few units, and a minibatch for it."""

import jax
import jax.numpy as jnp

from compiled import Compiled
from nppac.agents.kl_actor_critic import KLActorCritic
from nppac.types import Batch, ReferenceStats

OBS_DIM, ACTION_DIM, BATCH = 3, 6, 16
KEY = jax.random.key(0)


def make_batch(scale=0.5):
    keys = jax.random.split(KEY, 6)
    stats = [
        ReferenceStats(
            0.3 * jax.random.normal(k, (BATCH, ACTION_DIM)), jnp.full((BATCH, ACTION_DIM), scale)
        )
        for k in keys[:2]
    ]
    return Batch(
        obs=jax.random.normal(keys[2], (BATCH, OBS_DIM)),
        action=jax.random.uniform(keys[3], (BATCH, ACTION_DIM), minval=-1, maxval=1),
        reward=jax.random.normal(keys[4], (BATCH,)),
        next_obs=jax.random.normal(keys[5], (BATCH, OBS_DIM)),
        discount_mask=jnp.ones(BATCH).at[0].set(0.0),
        reference=stats[0],
        next_reference=stats[1],
        episode_end=jnp.zeros(BATCH),
    )


def small_agent(**settings):
    return Compiled(KLActorCritic(policy_hidden=(16,), critic_hidden=(16,), **settings))
