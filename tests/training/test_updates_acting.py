import jax
import jax.numpy as jnp
import numpy as np

from nppac.training.updates import (
    exploring_policy,
    greedy_policy,
    random_policy,
)
from toy_task import ACTION_DIM, AGENT, OBS_DIM

KEY = jax.random.key(0)


def unasked(obs):
    raise AssertionError("these policies act without their reference")


def test_exploring_has_fresh_noise_at_each_call_and_follows_from_its_key():
    state, obs = AGENT.init(KEY, OBS_DIM, ACTION_DIM), np.zeros((2, OBS_DIM), np.float32)
    act, again = (exploring_policy(AGENT, state, KEY, unasked) for _ in range(2))
    first, second = act(obs), act(obs)
    assert first.shape == (2, ACTION_DIM)
    assert not np.array_equal(first, second)
    assert not np.array_equal(first[0], first[1])
    np.testing.assert_array_equal(again(obs), first)
    np.testing.assert_array_equal(again(obs), second)
    assert not np.array_equal(
        exploring_policy(AGENT, state, jax.random.key(1), unasked)(obs), first
    )


def test_the_greedy_policy_has_no_noise():
    state, obs = AGENT.init(KEY, OBS_DIM, ACTION_DIM), np.ones((2, OBS_DIM), np.float32)
    act = greedy_policy(AGENT, state, unasked)
    np.testing.assert_array_equal(act(obs), act(obs))
    np.testing.assert_allclose(act(obs), AGENT.mode(state, jnp.asarray(obs), None), rtol=1e-6)


def test_random_actions_fill_the_box_and_follow_from_their_key():
    obs = np.zeros((4000, OBS_DIM), np.float32)
    act, again = random_policy(ACTION_DIM, KEY), random_policy(ACTION_DIM, KEY)
    first, second = act(obs), act(obs)
    assert first.shape == (4000, ACTION_DIM)
    assert first.dtype == np.float32
    np.testing.assert_allclose(first.mean(0), 0, atol=0.05)
    np.testing.assert_allclose(first.var(0), 1 / 3, atol=0.02)
    assert np.abs(first).max() <= 1
    assert not np.array_equal(first, second)
    np.testing.assert_array_equal(again(obs), first)
    assert not np.array_equal(random_policy(ACTION_DIM, jax.random.key(1))(obs), first)
