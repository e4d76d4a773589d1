"""The student: a plain network, and how it is fitted to lessons."""

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax

from nppac.distill.lessons import Lessons
from nppac.distill.settings import DistillConfig
from nppac.errors import UserError
from nppac.networks import MLP, POLICY_LAST_BOUND
from nppac.plain_policy import PlainPolicy
from nppac.progress import Advance, silent
from nppac.references.network_query import Standardiser, standardiser


class Student(NamedTuple):
    """A network of standardised states whose outputs are squashed into actions."""

    network: MLP
    units: Standardiser


def fresh_student(lessons: Lessons, config: DistillConfig) -> Student:
    """One that has learned nothing, with the units of these states."""
    sizes = (lessons.obs.shape[1], config.hidden, lessons.actions.shape[1])
    network = MLP(jax.random.key(config.seed), *sizes, POLICY_LAST_BOUND)
    centre, spread = standardiser(lessons.obs)
    return Student(network, Standardiser(np.float32(centre), np.float32(spread)))


def fit(
    student: Student,
    lessons: Lessons,
    config: DistillConfig,
    rng: np.random.Generator,
    advance: Advance = silent,
) -> Student:
    """The student after a round on all lessons: Adam, its rate falling to zero."""
    x, y = jnp.asarray(student.units(lessons.obs)), jnp.asarray(lessons.actions)
    size = min(config.batch_size, len(lessons))
    batches, passes = len(lessons) // size, config.passes(len(lessons))
    adam = (config.learning_rate, passes * batches)
    network, optimiser = student.network, _adam(*adam).init(student.network)  # pyright: ignore[reportArgumentType]
    for epoch in range(1, passes + 1):
        rows = rng.permutation(len(lessons))[: batches * size].reshape(batches, size)
        network, optimiser, loss = _epoch(network, optimiser, x, y, rows, adam)
        advance(epoch, f"error {float(loss) ** 0.5:.3g}")
    if not np.isfinite(loss):
        raise UserError("The student diverged: its error is not finite. Give more --episodes.")
    return Student(network, student.units)


def _adam(learning_rate: float, steps: int) -> optax.GradientTransformation:
    return optax.adam(optax.cosine_decay_schedule(learning_rate, steps))


def actions_of(network: MLP, x: Any) -> Any:
    """Actions in (-1, 1) at standardised states."""
    return jnp.tanh(network(x))


def _loss(network: MLP, x: Any, y: Any) -> Any:
    return jnp.mean((actions_of(network, x) - y) ** 2)


@partial(jax.jit, static_argnames="adam", donate_argnames="optimiser")
def _epoch(
    network: MLP, optimiser: Any, x: Any, y: Any, rows: Any, adam: tuple[float, int]
) -> tuple[MLP, Any, Any]:
    """A pass over the minibatches, and the mean of their losses."""

    def step(carry: tuple[MLP, Any], chosen: Any) -> tuple[tuple[Any, Any], Any]:
        network, optimiser = carry
        loss, slope = jax.value_and_grad(_loss)(network, x[chosen], y[chosen])
        updates, optimiser = _adam(*adam).update(slope, optimiser)
        return (optax.apply_updates(network, updates), optimiser), loss  # pyright: ignore[reportArgumentType]

    (network, optimiser), losses = jax.lax.scan(step, (network, optimiser), rows)
    return network, optimiser, jnp.mean(losses)


def plain(student: Student, task: str) -> PlainPolicy:
    """The student as a policy that needs NumPy alone."""
    network, units = student
    weights, biases = (
        tuple(np.asarray(a) for a in layer) for layer in (network.weights, network.biases)
    )
    return PlainPolicy(units.centre, units.spread, weights, biases, task)


def error(policy: PlainPolicy, lessons: Lessons) -> float:
    """Root of the mean squared difference of an action to the teacher's."""
    return float(np.sqrt(np.mean((policy(lessons.obs) - lessons.actions) ** 2)))
