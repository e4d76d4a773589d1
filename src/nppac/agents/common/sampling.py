"""Several actions at each state, and their values."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from nppac.nn.critics import CriticEnsemble
from nppac.nn.policies import Policy
from nppac.types import ActionSamples, Obs


def sample_actions(policy: Policy, obs: Obs, key: PRNGKeyArray, count: int) -> ActionSamples:
    """`count` actions of a policy at each state; the network is evaluated once."""
    keys = jax.random.split(key, count)
    return jax.vmap(lambda k: policy.sample(obs, k)[0])(keys)


def sample_values(
    critic: CriticEnsemble, obs: Obs, actions: ActionSamples
) -> Float[Array, "n count batch"]:
    """Every critic's value of several actions at each state."""
    return jax.vmap(lambda action: critic(obs, action), out_axes=1)(actions)


def state_key(key: PRNGKeyArray, obs: Float[Array, " o"]) -> PRNGKeyArray:
    """A random key that is a function of the state, for policies that are deterministic.

    The same noise at all states would push in one direction throughout an episode.
    """
    bits = jax.lax.bitcast_convert_type(obs.astype(jnp.float32), jnp.uint32)
    odd = 2 * jnp.arange(len(bits), dtype=jnp.uint32) + 1
    return jax.random.fold_in(key, jnp.sum(bits * odd * jnp.uint32(2654435761)))
