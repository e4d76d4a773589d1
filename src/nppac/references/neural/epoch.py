"""One epoch of either part of training, as one compiled program."""

from functools import partial
from typing import Any, Literal, NamedTuple

import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float, Float32, Int32, PRNGKeyArray

from nppac.nn.mlp import MLP
from nppac.nn.policies import POLICY_LAST_BOUND
from nppac.references.neural.batches import Batches
from nppac.references.neural.config import ObjectiveSettings
from nppac.references.neural.model import (
    Masks,
    Terms,
    inverted,
    mean_objective,
    negative_log_likelihood,
    squared_error,
    tuned_bonus,
    variance_objective,
    variance_of_raw,
)

ADAM = optax.scale_by_adam()
Part = Literal["mean", "variance"]


class TrainState(NamedTuple):
    """All that training changes."""

    network: MLP
    optimiser: optax.OptState
    bonus: Float[Array, ""]
    """β of the entropy bonus."""


class Record(NamedTuple):
    """What an epoch tells: squared errors of a mean, or -log π(a|s) of a variance."""

    train: Float[Array, ""]
    validation: Float[Array, ""]
    bonus: Float[Array, ""]
    probe_variance: Float[Array, ""] | None


Trained = tuple[TrainState, Record]


@partial(jax.jit, static_argnames=("part", "settings", "dropout"))
def train_epoch(
    state: TrainState,
    batches: Batches,
    validation: Int32[Array, " v"],
    key: PRNGKeyArray,
    rate: Float32[Array, ""],
    x: Float32[Array, "n o"],
    targets: Float32[Array, "n d"],
    probe: Float32[Array, "m o"] | None,
    part: Part,
    settings: ObjectiveSettings,
    dropout: float,
) -> Trained:
    """A pass over the minibatches; targets are actions for a mean, residuals for a variance."""

    def step(state: TrainState, inputs: tuple[Any, Any, Any]) -> tuple[TrainState, Any]:
        rows, kept, i = inputs
        drawn, masks = jax.random.fold_in(key, i), inverted(kept, dropout)
        return _step(state, x[rows], targets[rows], drawn, rate, part, settings, masks)

    scanned = (batches.rows, batches.kept, jnp.arange(len(batches.rows)))
    state, losses = jax.lax.scan(step, state, scanned)
    held_x, held = x[validation], targets[validation]
    if part == "mean":
        loss = squared_error(state.network, held_x, held)
    else:
        loss = negative_log_likelihood(state.network, held_x, held, settings)
    probed = None
    if probe is not None:
        probed = jnp.mean(variance_of_raw(state.network(probe), settings.floor))
    return state, Record(jnp.mean(losses), loss, state.bonus, probed)


def _step(
    state: TrainState,
    x: Float32[Array, "b o"],
    targets: Float32[Array, "b d"],
    key: PRNGKeyArray,
    rate: Float32[Array, ""],
    part: Part,
    settings: ObjectiveSettings,
    masks: Masks,
) -> tuple[TrainState, Float[Array, ""]]:
    def objective(network: MLP) -> tuple[Float[Array, ""], Terms]:
        if part == "mean":
            return mean_objective(network, x, targets, settings, masks)
        return variance_objective(network, state.bonus, x, targets, key, settings, masks)

    slope, terms = jax.grad(objective, has_aux=True)(state.network)
    direction, optimiser = ADAM.update(slope, state.optimiser)
    network: Any = jax.tree.map(lambda leaf, way: leaf - rate * way, state.network, direction)
    bonus = state.bonus
    if part == "variance" and settings.tuned:
        bonus = tuned_bonus(bonus, terms.entropy, targets.shape[-1], settings)
    return TrainState(network, optimiser, bonus), terms.loss


@partial(jax.jit, static_argnames=("inputs", "outputs", "settings"))
def start(key: PRNGKeyArray, inputs: int, outputs: int, settings: ObjectiveSettings) -> TrainState:
    """A fresh network and its optimiser."""
    network = MLP(key, inputs, settings.hidden, outputs, POLICY_LAST_BOUND)
    optimiser = ADAM.init(network)  # pyright: ignore[reportArgumentType]
    return TrainState(network, optimiser, jnp.asarray(settings.bonus))
