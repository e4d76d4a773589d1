"""Several actions at each state, and their values."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from nppac.nn.critics import CriticEnsemble
from nppac.nn.policies import Policy, TanhNormalPolicy
from nppac.types import Actions, ActionSamples, Obs, Values


def sample_actions(policy: Policy, obs: Obs, key: PRNGKeyArray, count: int) -> ActionSamples:
    """`count` actions of a policy at each state; the network is evaluated once."""
    keys = jax.random.split(key, count)
    return jax.vmap(lambda k: policy.sample(obs, k)[0])(keys)


def sample_values(
    critic: CriticEnsemble, obs: Obs, actions: ActionSamples
) -> Float[Array, "n count batch"]:
    """Every critic's value of several actions at each state."""
    return jax.vmap(lambda action: critic(obs, action), out_axes=1)(actions)


def unsquashed_samples(policy: Policy, obs: Obs, key: PRNGKeyArray, count: int) -> ActionSamples:
    """Reparameterised samples of a squashed policy, before squashing."""
    assert isinstance(policy, TanhNormalPolicy)
    loc, scale = policy.loc_scale(obs)
    return loc + scale * jax.random.normal(key, (count, *loc.shape))


def best_action(critic: CriticEnsemble, obs: Obs, actions: ActionSamples) -> Actions:
    """At each state the action that the first critic values most."""
    best = jnp.argmax(sample_values(critic, obs, actions)[0], axis=0)
    return jnp.take_along_axis(actions, best[None, :, None], axis=0)[0]


def best_value(q: Float[Array, "n count batch"], minimum: float) -> Values:
    """max_k [λ min_i Q_i(s, a_k) + (1 - λ) max_i Q_i(s, a_k)]."""
    mixed = minimum * jnp.min(q, axis=0) + (1.0 - minimum) * jnp.max(q, axis=0)
    return jnp.max(mixed, axis=0)


def state_key(key: PRNGKeyArray, obs: Float[Array, " o"]) -> PRNGKeyArray:
    """A random key that is a function of the state, for policies that are deterministic.

    The same noise at all states would push in one direction throughout an episode.
    """
    bits = jax.lax.bitcast_convert_type(obs.astype(jnp.float32), jnp.uint32)
    odd = 2 * jnp.arange(len(bits), dtype=jnp.uint32) + 1
    return jax.random.fold_in(key, jnp.sum(bits * odd * jnp.uint32(2654435761)))
