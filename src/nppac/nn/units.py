"""Units in which networks see their inputs and the reference's scale; nobody trains them."""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from nppac.nn.standardise import Standardiser
from nppac.types import ReferenceStats

InputUnits = tuple[Float[Array, " inputs"], ...]
"""Centre, spread and largest standardised size of each input; empty where inputs stay as they
are."""

FURTHEST = 10.0
"""Largest standardised input: what hardly varies in the data would be huge elsewhere."""
UNBOUNDED = 1e30
"""Largest input of a network that was given no units: there nothing may be cut."""


def neutral_units(inputs: int) -> InputUnits:
    """Units that change nothing, of the shape of those that may follow."""
    return jnp.zeros(inputs), jnp.ones(inputs), jnp.full(inputs, UNBOUNDED)


def units_from(units: Standardiser) -> InputUnits:
    """The units of some data."""
    furthest = np.full_like(units.centre, FURTHEST)
    return tuple(jnp.asarray(value, jnp.float32) for value in (*units, furthest))


def measured_in(x: Float[Array, "*batch i"], units: InputUnits) -> Float[Array, "*batch i"]:
    """Inputs in these units."""
    if not units:
        return x
    centre, spread, furthest = map(jax.lax.stop_gradient, units)
    if x.shape[-1:] != centre.shape:  # a single input would be repeated for all units
        raise TypeError(f"{x.shape[-1:]} inputs for a network of {centre.shape}")
    return jnp.clip((x - centre) / spread, -furthest, furthest)


def at_least(reference: ReferenceStats, smallest: tuple[Float[Array, " d"], ...]) -> ReferenceStats:
    """The reference with no scale below the smallest of its action."""
    if not smallest:
        return reference
    scale = jnp.maximum(reference.scale, jax.lax.stop_gradient(smallest[0]))
    return reference._replace(scale=scale)
