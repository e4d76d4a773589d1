import jax
import jax.numpy as jnp
import numpy as np

from nppac.agents.common.sampling import state_key

KEY = jax.random.key(0)


def test_every_state_has_noise_of_its_own_that_never_changes():
    obs = jnp.concatenate([jnp.linspace(-1, 1, 300).reshape(100, 3), jnp.zeros((1, 3))])
    noise = jax.vmap(lambda o: jax.random.normal(state_key(KEY, o), (2,)))
    np.testing.assert_array_equal(noise(obs), noise(obs[::-1])[::-1])
    assert len(np.unique(noise(obs), axis=0)) == 101
    assert np.abs(noise(obs).mean(0)).max() < 0.4  # no common direction
    swapped = state_key(KEY, jnp.array([1.0, 2.0])) == state_key(KEY, jnp.array([2.0, 1.0]))
    assert not swapped
