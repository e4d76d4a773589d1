"""Reads the networks of a file; layers that do not fit together are refused by their names."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from nppac.nn.mlp import MLP
from nppac.nn.standardise import Standardiser
from nppac.references.neural.model import DensityNetworks, Kept
from nppac.references.saved_file import SavedFile

MOST_COPIES = 1000
"""Members or passes: each answers for every state at once, so that their number is memory."""


def read_units(saved: SavedFile) -> Standardiser:
    """The units of the observations."""
    centre = saved.numbers("centre")
    if centre.ndim != 1 or not len(centre):
        raise saved.damaged("centre", f"has shape {centre.shape}, expected one number per entry")
    spread = saved.shaped("spread", centre.shape)
    if not (spread > 0).all():
        raise saved.damaged("spread", "has entries that are not positive")
    return Standardiser(centre, spread)


def read_networks(saved: SavedFile, obs_dim: int, members: tuple[int, ...]) -> DensityNetworks:
    """Both networks; in files of before one network gave μ and ρ side by side.

    `members` is the common first axis of their arrays, and empty for a single network.
    """
    first = _network_from(saved, "", obs_dim, members)
    if "variance_weight_0" in saved:
        second = _network_from(saved, "variance_", obs_dim, members)
        if second.biases[-1].shape != first.biases[-1].shape:
            raise saved.damaged("variance_bias_0", "is of a network with other outputs")
        return DensityNetworks(first, second)
    half, odd = divmod(first.biases[-1].shape[-1], 2)
    if odd or not half:
        raise saved.damaged("variance_weight_0", "is missing")
    return DensityNetworks(
        *(_last_outputs(first, part) for part in (slice(half), slice(half, None)))
    )


def read_members(saved: SavedFile) -> tuple[int, ...]:
    """The first axis of an ensemble's arrays."""
    found = saved.numbers("weight_0").shape[:-2]
    if len(found) != 1 or not 0 < found[0] <= MOST_COPIES:
        raise saved.damaged("weight_0", "is no ensemble's")
    return found


def read_kept(saved: SavedFile, networks: DensityNetworks) -> Kept:
    """Which units each pass of a network with dropout keeps."""
    kept = tuple(saved.array(f"kept_{i}") for i in range(len(networks.mean.biases) - 1))
    for i, mask in enumerate(kept):
        width = networks.mean.biases[i].shape[-1]
        if networks.variance.biases[i].shape[-1] != width:
            raise saved.damaged(f"variance_bias_{i}", "is of another width than the mean's")
        saved.check_shape(f"kept_{i}", mask, (max(1, len(kept[0])), width) if mask.ndim else (1,))
        if len(mask) > MOST_COPIES:
            raise saved.damaged(f"kept_{i}", f"tells of more than {MOST_COPIES} passes")
        if mask.dtype.kind != "b":
            raise saved.damaged(f"kept_{i}", f"holds {mask.dtype}, expected true or false")
    return kept


def _network_from(saved: SavedFile, prefix: str, inputs: int, members: tuple[int, ...]) -> MLP:
    weights, biases = [], []
    while not weights or f"{prefix}weight_{len(weights)}" in saved:
        name = f"{prefix}weight_{len(weights)}"
        weight = saved.numbers(name)
        outputs = weight.shape[-1] if weight.ndim else 0
        saved.check_shape(name, weight, (*members, inputs, max(1, outputs)))
        biases.append(saved.shaped(f"{prefix}bias_{len(weights)}", (*members, outputs)))
        weights.append(weight)
        inputs = outputs
    blank = MLP(jax.random.key(0), 1, (), 1, 0.0)
    layers = tuple(map(_single, weights)), tuple(map(_single, biases))
    return eqx.tree_at(lambda n: (n.weights, n.biases), blank, layers)


def _single(array: np.ndarray) -> jax.Array:
    return jnp.asarray(array, jnp.float32)


def _last_outputs(network: MLP, part: slice) -> MLP:
    """The network with some of its outputs only."""
    last = (network.weights[-1][..., part], network.biases[-1][..., part])
    return eqx.tree_at(lambda n: (n.weights[-1], n.biases[-1]), network, last)
