"""Multi-layer perceptrons.

Initialisation follows the authors' code: hidden weights uniform in ±1/√(layer width), biases 0.1,
last layer uniform within a small bound.
"""

from collections.abc import Callable
from functools import partial

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from nppac.nn.standardise import Standardiser
from nppac.nn.units import InputUnits, measured_in, neutral_units, units_from
from nppac.types import AnyArray

HIDDEN_BIAS = 0.1
LAYER_NORM_EPSILON = 1e-6


class MLP(eqx.Module):
    """Fully connected network, ReLU between layers by default; weights are (inputs, outputs).

    With `layer_norm` each hidden layer's values are standardised, scaled and shifted before the
    activation. With `standardise` inputs are shifted and divided by constants, which `with_units`
    gives and nobody trains.
    """

    weights: tuple[Float[Array, "i j"], ...]
    biases: tuple[Float[Array, " j"], ...]
    norms: tuple[tuple[Float[Array, " j"], Float[Array, " j"]], ...]
    units: InputUnits
    activation: Callable[[Array], Array] = eqx.field(static=True)

    def __init__(
        self,
        key: PRNGKeyArray,
        inputs: int,
        hidden: tuple[int, ...],
        outputs: int,
        last: float,
        *,
        layer_norm: bool = False,
        standardise: bool = False,
        activation: Callable[[Array], Array] = jax.nn.relu,
    ) -> None:
        self.activation = activation
        self.norms = tuple((jnp.ones(w), jnp.zeros(w)) for w in hidden) if layer_norm else ()
        self.units = neutral_units(inputs) if standardise else ()
        bounds = (*(width**-0.5 for width in hidden), last)
        self.weights, self.biases = _drawn(key, (inputs, *hidden, outputs), bounds)

    def __call__(self, x: Float[AnyArray, "*batch i"]) -> Float[Array, "*batch j"]:
        """Apply the layers to a single input or to a batch."""
        x = measured_in(jnp.asarray(x), self.units)
        *hidden, last = zip(self.weights, self.biases, strict=True)
        for i, (weight, bias) in enumerate(hidden):
            x = x @ weight + bias
            if self.norms:
                scale, shift = self.norms[i]
                x = scale * layer_normalised(x) + shift
            x = self.activation(x)
        weight, bias = last
        return x @ weight + bias

    def with_units(self, units: Standardiser) -> "MLP":
        """The same network, which sees its inputs in these units."""
        return eqx.tree_at(lambda network: network.units, self, units_from(units))


@partial(jax.jit, static_argnames=("sizes", "bounds"))
def _drawn(
    key: PRNGKeyArray, sizes: tuple[int, ...], bounds: tuple[float, ...]
) -> tuple[tuple[Array, ...], tuple[Array, ...]]:
    """Weights and biases of every layer, by one program: each draw would be compiled alone."""
    keys = jax.random.split(key, 2 * len(bounds)).reshape(len(bounds), 2)
    weights = tuple(
        jax.random.uniform(k[0], (i, j), minval=-bound, maxval=bound)
        for k, i, j, bound in zip(keys, sizes[:-1], sizes[1:], bounds, strict=True)
    )
    hidden = tuple(jnp.full((width,), HIDDEN_BIAS, jnp.float32) for width in sizes[1:-1])
    last = jax.random.uniform(keys[-1][1], sizes[-1:], minval=-bounds[-1], maxval=bounds[-1])
    return weights, (*hidden, last)


def layer_normalised(x: Float[Array, "*batch j"]) -> Float[Array, "*batch j"]:
    """Each row minus its mean, divided by its standard deviation.

    The means are matrix products: XLA does not vectorise sums over rows on CPUs.
    """
    mean = jnp.full((x.shape[-1], 1), 1.0 / x.shape[-1], x.dtype)
    centred = x - x @ mean
    return centred * jax.lax.rsqrt((centred * centred) @ mean + LAYER_NORM_EPSILON)
