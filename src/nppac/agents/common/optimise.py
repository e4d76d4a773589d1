"""Gradient steps on any tree of parameters."""

from collections.abc import Callable
from typing import NamedTuple, TypeVar, cast

import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float, Int

from nppac.types import Scalar

P = TypeVar("P")
S = TypeVar("S")
Optimiser = optax.GradientTransformation

# Optax's types do not admit Equinox modules, although its functions take any tree: hence the casts.


def init_optimiser(optimiser: Optimiser, params: object) -> optax.OptState:
    """The optimiser's state before its first step."""
    return optimiser.init(cast(optax.Params, params))


def apply_gradient(optimiser: Optimiser, params: P, gradient: P, state: S) -> tuple[P, S]:
    """One step of an optimiser: new parameters and its new state."""
    updates, after = optimiser.update(
        cast(optax.Updates, gradient), cast(optax.OptState, state), cast(optax.Params, params)
    )
    return cast(P, optax.apply_updates(cast(optax.Params, params), updates)), cast(S, after)


def gradient_step(
    loss: Callable[[P], Scalar], params: P, optimiser: Optimiser, state: S
) -> tuple[P, S, Scalar]:
    """One gradient step on a loss: new parameters, new optimiser state, and the loss before."""
    value, gradient = jax.value_and_grad(loss)(params)
    params, state = apply_gradient(optimiser, params, gradient, state)
    return params, state, value


def descend_minibatches(
    optimiser: Optimiser,
    loss: Callable[[P, Int[Array, " batch"]], Scalar],
    params: P,
    state: S,
    rows: Int[Array, "steps batch"],
) -> tuple[P, S, Scalar, Scalar]:
    """One step for each minibatch of rows; also the mean loss and the mean gradient magnitude."""

    def step(
        carry: tuple[P, S], batch: Int[Array, " batch"]
    ) -> tuple[tuple[P, S], tuple[Scalar, Scalar]]:
        params, state = carry
        value, gradient = jax.value_and_grad(loss)(params, batch)
        carry = apply_gradient(optimiser, params, gradient, state)
        return carry, (value, mean_magnitude(gradient))

    (params, state), (values, gradients) = jax.lax.scan(step, (params, state), rows)
    return params, state, jnp.mean(values), jnp.mean(gradients)


def polyak_average(new: P, old: P, tau: float) -> P:
    """θ̄ ← τ θ + (1 - τ) θ̄."""
    return cast(P, optax.incremental_update(cast(optax.Params, new), cast(optax.Params, old), tau))


YOUNG_RATIO = 0.2
"""Part of its steps that an average reaches back over while these are few."""


class ParamsAverage(NamedTuple):
    """A running average of parameters."""

    average: optax.Params


def with_average(optimiser: Optimiser, window: int, ratio: float, counts_start: bool) -> Optimiser:
    """Adam, or a chain with it, that also averages the parameters that result from its steps.

    φ̄ ← φ̄ + (φ - φ̄) / max(n, ρ t) after t steps, with the window n and the ratio ρ. Without
    `counts_start` it reaches back over a fifth of the steps until then, and forgets the start.
    """

    def init(params: optax.Params) -> tuple[optax.OptState, ParamsAverage]:
        return optimiser.init(params), ParamsAverage(jax.tree.map(jnp.copy, params))

    def update(
        updates: optax.Updates, state: optax.OptState, params: optax.Params | None = None
    ) -> tuple[optax.Updates, tuple[optax.OptState, ParamsAverage]]:
        inner, before = cast(tuple[optax.OptState, ParamsAverage], state)
        change, inner = optimiser.update(updates, inner, params)
        after = optax.apply_updates(cast(optax.Params, params), change)
        steps = optax.tree_utils.tree_get(inner, "count")  # Adam's own
        length = jnp.maximum(float(window), ratio * steps)
        if not counts_start:
            length = jnp.minimum(length, jnp.maximum(1.0, YOUNG_RATIO * steps))
        average = optax.incremental_update(after, before.average, 1.0 / length)
        return change, (inner, ParamsAverage(average))

    return optax.GradientTransformation(init, update)


def mean_magnitude(gradient: object) -> Scalar:
    """Average absolute gradient over all parameters: the paper's gradient magnitude."""
    leaves = jax.tree.leaves(gradient)
    return jnp.sum(jnp.stack([_sum_magnitude(g) for g in leaves])) / sum(g.size for g in leaves)


def _sum_magnitude(array: Float[Array, "..."]) -> Scalar:
    # Column by column first: XLA vectorises that on CPUs, but not a sum to a single number.
    return jnp.sum(jnp.sum(jnp.abs(array), axis=tuple(range(array.ndim - 1))))
