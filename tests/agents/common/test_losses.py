import jax
import jax.numpy as jnp
import numpy as np
import pytest

from nppac.agents.common.losses import (
    critic_loss,
    over_mean_size,
    policy_loss,
    soft_target,
    temperature_loss,
)


def test_soft_target_by_hand():
    target = soft_target(
        reward=jnp.array([1.0, 1.0]),
        discount_mask=jnp.array([1.0, 0.0]),
        next_q=jnp.array([2.0, 2.0]),
        next_log_ratio=jnp.array([0.5, 0.5]),
        temperature=2.0,
        discount=0.9,
    )
    np.testing.assert_allclose(target, [1.0 + 0.9 * (2.0 - 1.0), 1.0], rtol=1e-6)


def test_critic_loss_sums_over_critics_and_holds_the_target_constant():
    q, target = jnp.array([[1.0, 2.0], [0.0, 0.0]]), jnp.array([1.0, 1.0])
    assert float(critic_loss(q, target)) == pytest.approx(0.5 + 1.0)
    assert not jax.grad(critic_loss, argnums=1)(q, target).any()


def test_values_over_their_mean_size_do_not_depend_on_the_rewards_unit():
    values = jnp.array([1.0, -3.0])
    for size in (1.0, 1e3):
        np.testing.assert_allclose(over_mean_size(size * values), [0.5, -1.5], rtol=1e-6)
    np.testing.assert_array_equal(over_mean_size(jnp.zeros(2)), jnp.zeros(2))
    slope = jax.grad(lambda q: over_mean_size(q)[0])(values)
    np.testing.assert_allclose(slope, [0.5, 0.0], rtol=1e-6)  # the mean is a constant


def test_policy_loss_by_hand():
    loss = policy_loss(jnp.array([1.0, 3.0]), jnp.array([2.0, 4.0]), 0.5)
    assert float(loss) == pytest.approx((0.0 - 1.0) / 2)


def test_temperature_rises_while_the_kl_is_above_its_target():
    gradient = jax.grad(temperature_loss)
    assert float(gradient(jnp.array(0.0), jnp.array([5.0]), 3.0)) == pytest.approx(-2.0)
    assert float(gradient(jnp.array(0.0), jnp.array([1.0]), 3.0)) == pytest.approx(2.0)


def test_columns_are_refused():
    with pytest.raises(Exception, match=r"(?i)shape|dimension|type"):
        soft_target(jnp.ones((4, 1)), jnp.ones(4), jnp.ones(4), jnp.ones(4), 0.1, 0.99)
