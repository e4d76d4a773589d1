"""The student: a plain network, and how it is fitted to labelled states."""

from typing import NamedTuple, cast

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float

from nppac.deploy.config import DistillConfig
from nppac.deploy.dataset import LabelledStates
from nppac.deploy.numpy_policy import NumpyPolicy
from nppac.nn.mlp import MLP
from nppac.nn.policies import POLICY_LAST_BOUND
from nppac.nn.standardise import Standardiser, fit_standardiser
from nppac.types import AnyArray, Scalar
from nppac.utils.errors import UserError
from nppac.utils.progress import Advance, silent

ADAM = optax.scale_by_adam()


class Student(NamedTuple):
    """A network of standardised states whose outputs are squashed into actions."""

    network: MLP
    units: Standardiser


def fresh_student(lessons: LabelledStates, config: DistillConfig) -> Student:
    """One that has learned nothing, with the units of these states."""
    sizes = (lessons.obs.shape[1], config.hidden, lessons.actions.shape[1])
    network = MLP(jax.random.key(config.seed), *sizes, POLICY_LAST_BOUND)
    centre, spread = fit_standardiser(lessons.obs)
    return Student(network, Standardiser(centre.astype(np.float32), spread.astype(np.float32)))


def fit_student(
    student: Student,
    lessons: LabelledStates,
    config: DistillConfig,
    rng: np.random.Generator,
    advance: Advance = silent,
) -> Student:
    """The student after a round on all lessons: Adam, its rate falling to zero."""
    x, y = student.units(lessons.obs), lessons.actions
    size = min(config.batch_size, len(lessons))
    batches, passes = len(lessons) // size, config.passes(len(lessons))
    network, optimiser, loss = student.network, ADAM.init(student.network), 0.0  # pyright: ignore[reportArgumentType]
    for epoch in range(passes):
        losses, order = [], rng.permutation(len(lessons))
        for batch in range(batches):
            rows = order[batch * size : (batch + 1) * size]
            rate = _rate(config.learning_rate, (epoch + batch / batches) / passes)
            network, optimiser, loss = _step(network, optimiser, x[rows], y[rows], rate)
            losses.append(loss)
        loss = float(np.mean(losses))
        advance(epoch + 1, f"error {loss**0.5:.3g}")
    if not np.isfinite(loss):
        raise UserError("The student diverged: its error is not finite.")
    return Student(network, student.units)


def _rate(first: float, done: float) -> np.float32:
    """Half a cosine, from the first rate down to zero."""
    return np.float32(0.5 * first * (1.0 + np.cos(np.pi * done)))


def actions_of(network: MLP, x: Float[AnyArray, "n o"]) -> Float[Array, "n d"]:
    """Actions in (-1, 1) at standardised states."""
    return jnp.tanh(network(jnp.asarray(x)))


def _loss(network: MLP, x: Float[AnyArray, "n o"], y: Float[AnyArray, "n d"]) -> Scalar:
    return jnp.mean((actions_of(network, x) - y) ** 2)


@jax.jit
def _step(
    network: MLP,
    optimiser: optax.OptState,
    x: Float[AnyArray, "n o"],
    y: Float[AnyArray, "n d"],
    rate: Scalar | np.float32,
) -> tuple[MLP, optax.OptState, Scalar]:
    """One minibatch. No scan over many: it would be compiled anew for every round's lessons."""
    loss, slope = jax.value_and_grad(_loss)(network, x, y)
    direction, optimiser = ADAM.update(slope, optimiser)
    updates = jax.tree.map(lambda leaf: -rate * leaf, direction)
    moved = optax.apply_updates(network, updates)  # pyright: ignore[reportArgumentType]
    return cast(MLP, moved), optimiser, loss


def plain(student: Student, task: str) -> NumpyPolicy:
    """The student as a policy that needs NumPy alone."""
    network, units = student
    weights, biases = (
        tuple(np.asarray(a) for a in layer) for layer in (network.weights, network.biases)
    )
    return NumpyPolicy(units.centre, units.spread, weights, biases, task)


def error(policy: NumpyPolicy, lessons: LabelledStates) -> float:
    """Root of the mean squared difference of an action to the teacher's."""
    return float(np.sqrt(np.mean((policy(lessons.obs) - lessons.actions) ** 2)))
