"""What networks are trained on: each member's split of the demonstrations, and minibatches."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Array, Bool, Float32, Int32

from nppac.references.neural.config import NetworkConfig
from nppac.utils.errors import UserError


class Data(NamedTuple):
    """Standardised states, actions, and states whose variance is watched, if any."""

    x: Float32[np.ndarray | Array, "n o"]
    actions: Float32[np.ndarray | Array, "n d"]
    probe: Float32[np.ndarray | Array, "m o"] | None = None


class Batches(NamedTuple):
    """The steps that a member sees in an epoch."""

    rows: Int32[np.ndarray | Array, "batches size"]
    kept: tuple[Bool[np.ndarray | Array, "batches size _"], ...] | None = None
    """For each hidden layer whether dropout keeps a unit; None for all."""


class MemberSplit:
    """One member's own validation steps, and its own order of the others in every epoch."""

    def __init__(self, n: int, config: NetworkConfig, member: int, dropout: float = 0.0):
        if n < 2:
            raise UserError(f"A network needs at least 2 demonstration steps to fit; there is {n}.")
        self._random = np.random.default_rng((config.seed, member))
        order = self._random.permutation(n).astype(np.int32)
        held = min(max(1, round(config.validation_fraction * n)), n - 1)
        self.training, self.validation = order[held:], order[:held]
        self._size = min(config.batch_size, len(self.training))
        self._hidden, self._dropout = config.hidden, dropout

    def epoch(self) -> Batches:
        """The training steps in a new order, in minibatches; a remainder waits for other epochs."""
        batches = len(self.training) // self._size
        order = self._random.permutation(self.training)[: batches * self._size]
        shapes = [(batches, self._size, width) for width in self._hidden]
        kept = kept_units(self._random, shapes, self._dropout) if self._dropout else None
        return Batches(order.reshape(batches, self._size), kept)


def kept_units(
    random: np.random.Generator, shapes: Sequence[tuple[int, ...]], rate: float
) -> tuple[Bool[np.ndarray, "..."], ...]:
    """For each shape, whether each unit is kept, with probability 1 - p to within 2^-16.

    Drawn here and not in the program: XLA's generator would make training a third slower.
    """
    least = round(rate * 2**16)
    return tuple(random.integers(0, 2**16, shape, np.uint16) >= least for shape in shapes)
