"""The one training path of networks, ensembles and dropout: first the mean, then the variance.

The mean is fitted by squared error and kept at its best validation error. The variance is fitted by
the likelihood around that mean, which no longer moves, and kept at its best validation likelihood.
A joint likelihood would leave the mean unfinished, because the variance overfits first.
"""

import math
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float32, PRNGKeyArray

from nppac.nn.mlp import MLP
from nppac.references.neural.batches import Batches, Data, Split
from nppac.references.neural.config import NetworkConfig
from nppac.references.neural.epoch import Part, Record, Trained, TrainState, start, train_epoch
from nppac.references.neural.model import DensityNetworks
from nppac.utils.batching import map_in_chunks
from nppac.utils.errors import UserError
from nppac.utils.progress import Advance, after, silent


class Member(NamedTuple):
    """The networks of one member at their best epochs, and how training went."""

    networks: DensityNetworks
    report: dict[str, Any]


class Run:
    """Training of one network, epoch by epoch, until its patience is over; its best is kept."""

    def __init__(
        self,
        state: TrainState,
        epoch: Callable[[TrainState, Batches, Any, PRNGKeyArray, np.ndarray], Trained],
        split: Split,
        key: PRNGKeyArray,
        patience: int,
    ):
        self._state, self._epoch, self._split, self._key = state, epoch, split, key
        self._patience = patience
        self.best, self.best_epoch, self.least = state.network, 0, float("inf")
        self._records: list[Record] = []

    @property
    def epochs(self) -> int:
        """How many there were."""
        return len(self._records)

    @property
    def active(self) -> bool:
        """Whether the last improvement is recent enough to go on."""
        return self.epochs - self.best_epoch < self._patience

    def step(self, rate: float) -> None:
        """One epoch with that learning rate."""
        key = jax.random.fold_in(self._key, self.epochs + 1)
        batches, held = self._split.epoch(), self._split.validation
        state, record = self._epoch(self._state, batches, held, key, np.asarray(rate, np.float32))
        self._state = state
        self._records.append(record)
        if float(record.validation) < self.least:
            self.best, self.best_epoch = state.network, self.epochs
            self.least = float(record.validation)

    def history(self, name: str) -> list[float]:
        """One number for every epoch."""
        return [float(getattr(record, name)) for record in self._records]


def fit_members(
    data: Data,
    config: NetworkConfig,
    members: int = 1,
    dropout: float = 0.0,
    advance: Advance = silent,
) -> list[Member]:
    """Fit independent members, each with its own seed and split, to standardised states.

    All share one compiled program, and the cores share the members: the weights of one then stay
    in a core's cache, and one that has stopped costs nothing. The first k are the same for any
    number of them. `advance` counts to `config.steps`.
    """
    keys = [jax.random.fold_in(jax.random.key(config.seed), k) for k in range(members)]
    splits = [Split(len(data.x), config, k, dropout) for k in range(members)]
    x, actions = jnp.asarray(data.x), jnp.asarray(data.actions)

    def make_run(part: Part, k: int, targets: Float32[Array, "n d"]) -> Run:
        key = jax.random.fold_in(keys[k], 0 if part == "mean" else 1)
        probe = None if part == "mean" else data.probe
        fixed = {"part": part, "settings": config.objective, "dropout": dropout}
        epoch = partial(train_epoch, x=x, targets=targets, probe=probe, **fixed)
        state = start(key, x.shape[1], targets.shape[1], config.objective)
        return Run(state, epoch, splits[k], key, config.patience)

    means = [make_run("mean", k, actions) for k in range(members)]
    rates = falling_rates(config.learning_rate, config.epochs_of_mean)
    _train(means, rates, advance, "mean, squared error")
    residuals = [actions - _outputs(run.best, data.x) for run in means]
    variances = [make_run("variance", k, residuals[k]) for k in range(members)]
    rates = falling_rates(config.learning_rate, config.max_epochs)
    rest = after(config.epochs_of_mean, advance)
    _train(variances, rates, rest, "variance, validation NLL")
    return [_member(*runs, data) for runs in zip(means, variances, strict=True)]


def falling_rates(first: float, epochs: int) -> list[float]:
    """A learning rate for each epoch: half a cosine, from the first rate down to nearly 0."""
    return [0.5 * first * (1.0 + math.cos(math.pi * i / epochs)) for i in range(epochs)]


def _train(runs: list[Run], rates: list[float], advance: Advance, what: str) -> None:
    with ThreadPoolExecutor(_cores()) as pool:
        for epoch, rate in enumerate(rates, start=1):
            running = [run for run in runs if run.active]
            if not running:
                break
            # The first one compiles for all: threads would each do it again.
            run_all = pool.map if epoch > 1 else map
            for _ in run_all(partial(Run.step, rate=rate), running):
                pass
            advance(epoch, f"{what} {np.mean([run.least for run in runs]):.3g}")
    if not all(run.best_epoch for run in runs):
        raise UserError(
            "The network's validation loss was never finite. Look for extreme values in the "
            "demonstrations, lower `learning_rate`, or raise `variance_floor`."
        )


def _outputs(network: MLP, x: Float32[np.ndarray, "n o"]) -> Float32[np.ndarray, "n d"]:
    return map_in_chunks(lambda rows: (_apply(network, rows),), x)[0]


@jax.jit
def _apply(network: MLP, x: Float32[Array, "n o"]) -> Float32[Array, "n d"]:
    return network(x)


def _cores() -> int:
    """Cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _member(mean: Run, variance: Run, data: Data) -> Member:
    """The networks, and a report in plain numbers; lists have an entry per epoch."""
    train, validation = variance.history("train"), variance.history("validation")
    probed = {} if data.probe is None else {"probe_variance": variance.history("probe_variance")}
    report = {
        "mean_epochs": mean.epochs,
        "mean_best_epoch": mean.best_epoch,
        "mean_squared_error": mean.least,
        "epochs": variance.epochs,
        "best_epoch": variance.best_epoch,
        "best_train_nll": train[variance.best_epoch - 1],
        "best_validation_nll": validation[variance.best_epoch - 1],
        "final_bonus": variance.history("bonus")[-1],
        "mean_train_error": mean.history("train"),
        "mean_validation_error": mean.history("validation"),
        "train_nll": train,
        "validation_nll": validation,
        "bonus": variance.history("bonus"),
        **probed,
    }
    return Member(DensityNetworks(mean.best, variance.best), report)
