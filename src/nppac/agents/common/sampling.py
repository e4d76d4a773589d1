"""Small steps that methods with learned priors share: descend, sample often, value the samples."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from nppac.agents.common.actor_critic import Scalar, apply
from nppac.nn.critics import CriticEnsemble
from nppac.nn.policies import Policy


def gradient_step(
    loss: Callable[[Any], Scalar], params: Any, optimiser: Any, optimiser_state: Any
) -> tuple[Any, Any, Scalar]:
    """One gradient step on a loss: new parameters, new optimiser state, and the loss before."""
    value, grads = jax.value_and_grad(loss)(params)
    params, optimiser_state = apply(optimiser, params, grads, optimiser_state)
    return params, optimiser_state, value


def sample_often(
    policy: Policy, obs: Float[Array, "batch o"], key: PRNGKeyArray, count: int
) -> Float[Array, "count batch d"]:
    """So many actions of a policy at each state; its network runs once."""
    keys = jax.random.split(key, count)
    return jax.vmap(lambda k: policy.sample(obs, k)[0])(keys)


def value_each(
    critic: CriticEnsemble, obs: Float[Array, "batch o"], actions: Float[Array, "count batch d"]
) -> Float[Array, "n count batch"]:
    """Every critic's value of several actions at each state."""
    return jax.vmap(lambda action: critic(obs, action), out_axes=1)(actions)


def own_key(key: PRNGKeyArray, obs: Float[Array, " o"]) -> PRNGKeyArray:
    """A key of this state's own, so that a deterministic policy may draw.

    Noise that were alike at all states would push into one direction throughout an episode.
    """
    bits = jax.lax.bitcast_convert_type(obs.astype(jnp.float32), jnp.uint32)
    odd = 2 * jnp.arange(len(bits), dtype=jnp.uint32) + 1
    return jax.random.fold_in(key, jnp.sum(bits * odd * jnp.uint32(2654435761)))
