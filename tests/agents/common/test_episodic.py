import jax.numpy as jnp
import numpy as np
import pytest

from compiled import Compiled
from episodes import KEY, episode_replay
from nppac.agents.awr import AWR
from nppac.agents.common.episodic import (
    Estimate,
    Scaling,
    explained_variance,
    filled,
    identity_scaling,
)
from nppac.utils.errors import UserError


def test_a_scaling_that_saw_nothing_is_the_identity():
    x = jnp.array([[1.0, -2.0]])
    np.testing.assert_array_equal(identity_scaling(2).scaled(x), x)
    np.testing.assert_array_equal(identity_scaling(2).unscaled(x), x)


def test_a_scaling_in_parts_is_that_of_the_whole():
    rows = np.random.default_rng(0).normal(5.0, 2.0, (90, 4)).astype(np.float32)
    scaling = identity_scaling(4)
    for part in (rows[:7], rows[7:50], rows[50:]):
        scaling = scaling.extended(jnp.asarray(part), jnp.ones(len(part)))
    np.testing.assert_allclose(scaling.mean, rows.mean(0), rtol=1e-5)
    np.testing.assert_allclose(scaling.std, rows.std(0), rtol=1e-5)
    np.testing.assert_allclose(scaling.unscaled(scaling.scaled(jnp.asarray(rows))), rows, rtol=1e-4)


def test_what_never_varies_is_not_blown_up():
    scaling = identity_scaling(1).extended(jnp.full((5, 1), 3.0), jnp.ones(5))
    np.testing.assert_allclose(scaling.scaled(jnp.array([[3.02]])), [[1.0]], rtol=1e-3)


def test_rows_without_weight_are_not_seen():
    rows = jnp.array([[1.0], [3.0], [77.0]])
    scaling = identity_scaling(1).extended(rows, jnp.array([1.0, 1.0, 0.0]))
    assert isinstance(scaling, Scaling)
    assert (float(scaling.mean[0]), float(scaling.variance[0])) == (2.0, 1.0)


@pytest.mark.parametrize(("sizes", "count"), [((12,), 12), ((30,), 30), ((20, 20), 30)])
def test_filled_rows(sizes, count):
    assert float(filled(episode_replay(30, *sizes)).sum()) == count


def test_explained_variance():
    returns, weights = jnp.array([1.0, 2.0, 3.0, 50.0]), jnp.array([1.0, 1.0, 1.0, 0.0])
    assert float(explained_variance(Estimate(returns, returns), weights)) == 1.0
    assert float(explained_variance(Estimate(returns, jnp.zeros(4)), weights)) == 0.0
    same = Estimate(jnp.ones(4), jnp.zeros(4))
    assert float(explained_variance(same, weights)) == 0.0


def test_the_value_network_learns_the_returns():
    settings = {"critic_updates": 2000, "minibatch_size": 32, "critic_learning_rate": 0.02}
    agent = Compiled(AWR(critic_hidden=(16,), discount=0.5, **settings))
    replay = episode_replay(40, 40)
    state = agent.init(KEY, 3, 2)
    state = state._replace(scaling=state.scaling.extended(replay.storage.obs, filled(replay)))
    returns = 3.0 * replay.storage.obs[:, 0] - 1.0
    state, info = agent.fit_critic(state, replay, returns, KEY)
    value = agent.value(state.critic, state.scaling, replay.storage.obs)
    assert value.shape == (40,)
    assert float(jnp.mean((value - returns) ** 2)) < 0.01 * float(jnp.var(returns))
    assert np.isfinite([float(x) for x in info.values()]).all()


@pytest.mark.parametrize(
    "settings", [{"discount": 1.0}, {"gae_lambda": 1.5}, {"critic_updates": 0}]
)
def test_settings_out_of_range_are_refused(settings):
    with pytest.raises(UserError, match=r"must be"):
        AWR(**settings)
