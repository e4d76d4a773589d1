"""Members that train in one call of the compiled program, and what is known about each."""

from collections.abc import Sequence
from typing import Any

import jax
import numpy as np

from nppac.nn.mlp import MLP
from nppac.references.neural.config import NetworkConfig
from nppac.references.neural.epoch import Data, Record, Rows, start, train_epoch
from nppac.utils.errors import UserError


class Steps:
    """The steps that one member sees: its own split, and its own order in every epoch."""

    def __init__(self, n: int, config: NetworkConfig, member: int, dropout: float = 0.0):
        if n < 2:
            raise UserError(f"A network needs at least 2 demonstration steps to fit; there is {n}.")
        self._random = np.random.default_rng((config.seed, member))
        order = self._random.permutation(n).astype(np.int32)
        kept = min(max(1, round(config.validation_fraction * n)), n - 1)
        self.fit_networks, self.validation = order[kept:], order[:kept]
        self._size = min(config.batch_size, len(self.fit_networks))
        self._hidden, self._dropout = config.hidden, dropout

    def epoch(self) -> Rows:
        """The training steps in a new order, in minibatches; a remainder waits for other epochs."""
        batches = len(self.fit_networks) // self._size
        order = self._random.permutation(self.fit_networks)[: batches * self._size]
        shapes = [(batches, self._size, width) for width in self._hidden]
        kept = kept_units(self._random, shapes, self._dropout) if self._dropout else None
        return Rows(order.reshape(batches, self._size), self.validation, kept)


def kept_units(
    random: np.random.Generator, shapes: Sequence[tuple[int, ...]], rate: float
) -> tuple[np.ndarray, ...]:
    """For each shape, whether each unit is kept, with probability 1 - p to within 2^-16.

    Drawn here and not in the program: XLA's generator would make training a third slower.
    """
    least = round(rate * 2**16)
    return tuple(random.integers(0, 2**16, shape, np.uint16) >= least for shape in shapes)


class Group:
    """One member, or a stack of members; each keeps the parameters of its best epoch.

    Once a member's patience is over they change no more, whatever the others still do.
    """

    def __init__(
        self,
        data: Data,
        config: NetworkConfig,
        dropout: float,
        numbers: Sequence[int],
        stacked: bool,
    ):
        self._data, self._patience = data, config.patience
        self._stacked, self._program = stacked, (config.compiled(), dropout, stacked)
        self._steps = [Steps(len(data.x), config, k, dropout) for k in numbers]
        key = _member_keys(jax.random.key(config.seed), np.array(numbers))
        self._key = key if stacked else key[0]
        sizes = (data.x.shape[1], data.actions.shape[1])
        self._state = start(self._key, *sizes, config.compiled(), stacked)
        self._records: list[Record] = []
        self.active = np.ones(len(numbers), bool)
        self.best_epoch = np.zeros(len(numbers), int)
        self.epochs = np.zeros(len(numbers), int)
        self.least = np.full(len(numbers), np.inf)

    def run(self) -> None:
        """One epoch of every member."""
        epoch = len(self._records) + 1
        rows = [steps.epoch() for steps in self._steps]
        active = self.active
        if self._stacked:
            rows = jax.tree.map(lambda *leaves: np.stack(leaves), *rows)
        else:
            rows, active = rows[0], active[0]
        key = _epoch_key(self._key, epoch)
        self._state, record = train_epoch(
            self._state, rows, key, active, self._data, *self._program
        )
        self._records.append(jax.tree.map(np.atleast_1d, record))
        self._judge(epoch, np.atleast_1d(self._state.least))

    def _judge(self, epoch: int, least: np.ndarray) -> None:
        self.best_epoch[least < self.least] = epoch
        self.least = least
        self.epochs[self.active] = epoch
        self.active = self.active & (epoch - self.best_epoch < self._patience)

    def networks(self) -> MLP:
        """The members at their best epochs, along a first axis."""
        best = self._state.best
        return best if self._stacked else jax.tree.map(lambda leaf: leaf[None], best)

    def reports(self) -> list[dict[str, Any]]:
        """How each member's training went, as plain numbers; lists have an entry per epoch."""
        return [self._report(member) for member in range(len(self._steps))]

    def _report(self, member: int) -> dict[str, Any]:
        epochs, best = int(self.epochs[member]), int(self.best_epoch[member])
        history = {
            name: [float(record[i][member]) for record in self._records[:epochs]]
            for i, name in enumerate(Record._fields)
            if self._records[0][i] is not None
        }
        return {
            "epochs": epochs,
            "best_epoch": best,
            "best_train_nll": history["train_nll"][best - 1],
            "best_validation_nll": history["validation_nll"][best - 1],
            "final_bonus": history["bonus"][-1],
            **history,
        }


_member_keys: Any = jax.jit(jax.vmap(jax.random.fold_in, in_axes=(None, 0)))


@jax.jit
def _epoch_key(key: Any, epoch: Any) -> Any:
    """The key of an epoch: one per member where `key` is a stack."""
    fold = jax.random.fold_in
    return jax.vmap(fold, in_axes=(0, None))(key, epoch) if key.ndim else fold(key, epoch)
