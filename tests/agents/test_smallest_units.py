from dataclasses import replace

import numpy as np
import pytest

from agents.test_anchored_actor_critic import (
    ACTION_DIM,
    KEY,
    LOC,
    OBS,
    OBS_DIM,
    ROWS,
    STATS,
    make_batch,
    other_agent,
)
from method_runs import stacked
from nppac.utils.errors import UserError


def test_critics_measure_residuals_in_units_no_smaller_than_the_smallest():
    """σ0 is 0.2 here; the critics see distances in units of 2."""
    agent = other_agent(critic_residuals=True, min_unit=2.0)
    state = agent.init(KEY, OBS_DIM, ACTION_DIM)
    wide = STATS._replace(scale=np.maximum(STATS.scale, np.float32(2.0)))
    expected = np.asarray(state.critic(OBS, LOC + np.float32(0.3), wide)).min(0)
    found = agent.values(state, OBS, LOC + np.float32(0.3), STATS)
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


def test_the_smallest_unit_is_a_part_of_what_the_demonstrator_does():
    """σ0 is 0.2; of actions that vary by 6 and by 0.5 a tenth is 0.6 and 0.05."""
    agent = other_agent(min_unit_ratio=0.1, noise_ratio=0.5, policy_ema_updates=3)
    shown = np.float32([[-6.0, 0.5], [6.0, -0.5]])
    state = agent.agent.with_demo_units(agent.init(KEY, OBS_DIM, ACTION_DIM), OBS[:2], shown)
    for policy in (state.policy, agent.averaged(state).policy):
        _, scale = policy.condition_on(STATS).loc_scale(OBS)
        np.testing.assert_allclose(scale, np.tile(np.float32([0.3, 0.1]), (ROWS, 1)), rtol=1e-6)
    moved = state.policy.condition_on(STATS).loc_scale(OBS)[0] - LOC
    _, penalty = agent.act_with_log_ratio(state.policy, OBS, STATS, KEY, "normal")
    expected = 0.5 * np.sum((moved / np.float32([0.6, 0.2])) ** 2, axis=-1)
    np.testing.assert_allclose(penalty, expected, rtol=1e-3, atol=1e-9)


def test_nobody_trains_the_smallest_units():
    agent = other_agent(min_unit_ratio=0.1, critic_residuals=True)
    shown = np.float32([[-6.0, 0.5], [6.0, -0.5]])
    state = agent.agent.with_demo_units(agent.init(KEY, OBS_DIM, ACTION_DIM), OBS[:2], shown)
    after, _ = agent.update(state, stacked(make_batch()), KEY, "normal")
    for before, now in ((state.policy, after.policy), (state.critic, after.critic)):
        np.testing.assert_array_equal(now.smallest[0], np.float32([0.6, 0.05]))
        np.testing.assert_array_equal(now.smallest[0], before.smallest[0])
    with pytest.raises(UserError, match="'weight_decay' would shrink the smallest units"):
        replace(agent.agent, weight_decay=0.1)
