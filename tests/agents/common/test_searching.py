import jax
import numpy as np
import pytest

from nppac.agents.kl_actor_critic import KLActorCritic
from nppac.utils.errors import UserError

KEY = jax.random.key(0)
PLAIN = KLActorCritic(head="normal", policy_hidden=(16,), critic_hidden=(16,))


def test_a_policy_searches_where_its_own_scale_says_that_it_is_lost():
    state = PLAIN.init(KEY, 3, 2)
    obs = 100.0 * np.random.default_rng(0).normal(size=(6000, 3)).astype(np.float32)
    scale = np.asarray(state.policy.loc_scale(obs)[1])
    lost_scale = float(np.median(scale.mean(1)))
    agent = KLActorCritic(
        head="normal", policy_hidden=(16,), critic_hidden=(16,), lost_scale=lost_scale
    )
    action = np.asarray(agent.mode(state, obs, None))
    moved = action - np.asarray(PLAIN.mode(state, obs, None))
    lost = scale.mean(1) > lost_scale
    assert 0.4 < lost.mean() < 0.6
    assert np.all(moved[~lost] == 0.0)
    np.testing.assert_allclose((moved[lost] / scale[lost]).std(0), 1.0, atol=0.05)
    np.testing.assert_array_equal(agent.mode(state, obs, None), action)  # drawn from the state


def test_the_exploring_policy_does_not_search():
    state, obs = PLAIN.init(KEY, 3, 2), np.ones((4, 3), np.float32)
    searching = KLActorCritic(
        head="normal", policy_hidden=(16,), critic_hidden=(16,), lost_scale=1e-9
    )
    np.testing.assert_array_equal(
        searching.sample(state, obs, None, KEY), PLAIN.sample(state, obs, None, KEY)
    )


def test_steps_count_as_lost_by_the_mean_scale():
    scale = np.float32([[0.1, 0.1], [0.4, 0.8], [0.9, 0.2]])
    np.testing.assert_array_equal(KLActorCritic(lost_scale=0.5).is_lost(scale), [False, True, True])


def test_an_end_for_lost_episodes_needs_a_scale():
    with pytest.raises(UserError, match="'lost_scale' and 'lost_ratio' are 0"):
        KLActorCritic(max_lost_steps=25)
    assert KLActorCritic(max_lost_steps=25, lost_ratio=0.9).max_lost_steps == 25
