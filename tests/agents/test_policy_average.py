"""Every actor-critic can be evaluated by an average of its policy over updates."""

import jax
import numpy as np
import optax
import pytest

from compiled import Compiled
from nppac.agents.common.actor_critic import ActorCritic
from nppac.agents.registry import METHODS
from nppac.types import ReferenceStats

OBS_DIM, ACTION_DIM = 3, 2
OBS = np.linspace(-1.0, 1.0, 4 * OBS_DIM, dtype=np.float32).reshape(4, OBS_DIM)
STATS = ReferenceStats(np.zeros((4, ACTION_DIM)), np.full((4, ACTION_DIM), 0.5))
NAMES = [name for name, method in METHODS.items() if issubclass(method.agent, ActorCritic)]


@pytest.mark.parametrize("name", NAMES)
def test_the_evaluated_policy_is_the_average(name):
    small = {"policy_hidden": (8,), "critic_hidden": (8,)}
    agent = Compiled(METHODS[name].agent(**small))
    averaging = Compiled(METHODS[name].agent(**small, policy_ema_updates=3))
    state = averaging.init(jax.random.key(0), OBS_DIM, ACTION_DIM)
    average = averaging.init(jax.random.key(1), OBS_DIM, ACTION_DIM).policy
    optimiser = optax.tree_utils.tree_set(state.policy_optimiser, average=average)
    stats = STATS if agent.anchored else None
    found = averaging.mode(state._replace(policy_optimiser=optimiser), OBS, stats)
    newest, expected = (
        agent.mode(state._replace(policy=policy), OBS, stats) for policy in (state.policy, average)
    )
    np.testing.assert_array_equal(found, expected)
    assert not np.allclose(newest, expected)
