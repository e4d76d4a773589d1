"""One epoch of training as one compiled program."""

from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float, Float32, Int32, PRNGKeyArray

from nppac.nn.mlp import MLP
from nppac.nn.policies import POLICY_LAST_BOUND
from nppac.references.neural.batches import Batches
from nppac.references.neural.config import ObjectiveSettings
from nppac.references.neural.model import (
    DensityNetworks,
    Masks,
    Terms,
    inverted,
    losses,
    objective,
    tuned_bonus,
)

ADAM = optax.scale_by_adam()


class TrainState(NamedTuple):
    """All that training changes."""

    networks: DensityNetworks
    optimiser: optax.OptState
    bonus: Float[Array, ""]
    """β of the entropy bonus."""


class EpochRecord(NamedTuple):
    """What an epoch tells."""

    train: Terms
    validation: Terms
    bonus: Float[Array, ""]
    probe_variance: Float[Array, ""] | None


@partial(jax.jit, static_argnames=("settings", "dropout"))
def train_epoch(
    state: TrainState,
    batches: Batches,
    validation: Int32[Array, " v"],
    key: PRNGKeyArray,
    rate: Float32[Array, ""],
    x: Float32[Array, "n o"],
    actions: Float32[Array, "n d"],
    probe: Float32[Array, "m o"] | None,
    settings: ObjectiveSettings,
    dropout: float,
) -> tuple[TrainState, EpochRecord]:
    """A pass over the minibatches with that learning rate, and the losses after it."""

    def step(state: TrainState, inputs: tuple[Batches, Array]) -> tuple[TrainState, Terms]:
        (rows, kept), i = inputs
        drawn, masks = jax.random.fold_in(key, i), inverted(kept, dropout)
        return _step(state, x[rows], actions[rows], drawn, rate, settings, masks)

    state, terms = jax.lax.scan(step, state, (batches, jnp.arange(len(batches.rows))))
    held = losses(state.networks, x[validation], actions[validation], settings)
    probed = None
    if probe is not None:
        probed = jnp.mean(state.networks(probe, settings.floor)[1])
    return state, EpochRecord(jax.tree.map(jnp.mean, terms), held, state.bonus, probed)


def _step(
    state: TrainState,
    x: Float32[Array, "b o"],
    actions: Float32[Array, "b d"],
    key: PRNGKeyArray,
    rate: Float32[Array, ""],
    settings: ObjectiveSettings,
    masks: Masks,
) -> tuple[TrainState, Terms]:
    gradient = jax.grad(objective, has_aux=True)
    slope, terms = gradient(state.networks, state.bonus, x, actions, key, settings, masks)
    direction, optimiser = ADAM.update(slope, state.optimiser)
    networks = jax.tree.map(lambda leaf, way: leaf - rate * way, state.networks, direction)
    bonus = state.bonus
    if settings.tuned:
        bonus = tuned_bonus(bonus, terms.entropy, actions.shape[-1], settings)
    return TrainState(networks, optimiser, bonus), terms


@partial(jax.jit, static_argnames=("obs_dim", "action_dim", "settings"))
def start(
    key: PRNGKeyArray, obs_dim: int, action_dim: int, settings: ObjectiveSettings
) -> TrainState:
    """Fresh networks and their optimiser."""
    sizes = (obs_dim, settings.hidden, action_dim, POLICY_LAST_BOUND)
    mean, variance = (MLP(jax.random.fold_in(key, i), *sizes) for i in range(2))
    networks = DensityNetworks(mean, variance)
    optimiser = ADAM.init(networks)  # pyright: ignore[reportArgumentType]
    return TrainState(networks, optimiser, jnp.asarray(settings.bonus))
