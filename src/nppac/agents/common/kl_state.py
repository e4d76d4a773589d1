"""The state of the KL actor-critic, and how its critics learn first."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import optax

from nppac.nn.critics import CriticEnsemble
from nppac.nn.policies import Policy
from nppac.types import Scalar


class KLActorCriticState(NamedTuple):
    """Everything that learns."""

    policy: Policy
    critic: CriticEnsemble
    target_critic: CriticEnsemble
    log_temperature: Scalar
    policy_optimiser: optax.OptState
    critic_optimiser: optax.OptState
    temperature_optimiser: optax.OptState
    value_shift: Scalar
    """Value, in the rewards' units, at which the critics say 0."""
    value_scale: Scalar
    """What 1 of the critics is in the rewards' units."""


def after_warmup(
    old: KLActorCriticState, new: KLActorCriticState, critic_steps: int
) -> KLActorCriticState:
    """The new state; the old one during the first steps of the critics, which learn alone then."""
    if not critic_steps:
        return new
    learned = optax.tree_utils.tree_get(old.critic_optimiser, "count")  # Adam's own
    return jax.tree.map(lambda o, n: jnp.where(learned <= critic_steps, o, n), old, new)
