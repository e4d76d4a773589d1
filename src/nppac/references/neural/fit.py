"""The one training path of networks, ensembles and dropout, with separate stopping.

The mean is fitted by squared error alone and kept at its best validation error; the variance is
fitted by the likelihood around that mean and kept at its best validation likelihood. A likelihood
of both, with one stop, leaves the mean unfinished, because the variance overfits first.
"""

import math
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from threading import Event, Lock
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from nppac.references.neural.batches import Data, MemberSplit
from nppac.references.neural.config import NetworkConfig
from nppac.references.neural.epoch import EpochRecord, start, train_epoch
from nppac.references.neural.model import DensityNetworks
from nppac.utils.errors import UserError
from nppac.utils.memory import require_memory
from nppac.utils.progress import Advance, silent
from nppac.utils.threads import thread_count

FitReport = dict[str, Any]
"""How training went, as JSON gives it back; a list has an entry per epoch or per member."""


class Member(NamedTuple):
    """The networks of one member, each at its best epoch, and how training went."""

    networks: DensityNetworks
    report: FitReport


class MemberFit:
    """Training of one member, epoch by epoch, until its patience is over."""

    def __init__(self, data: Data, config: NetworkConfig, dropout: float, member: int):
        self._key = jax.random.fold_in(jax.random.key(config.seed), member)
        self._split = MemberSplit(len(data.x), config, member, dropout)
        sizes = (data.x.shape[1], data.actions.shape[1])
        self._state = start(self._key, *sizes, config.objective)
        fixed = {"settings": config.objective, "dropout": dropout}
        self._epoch = partial(train_epoch, **data._asdict(), **fixed)
        self._patience = config.patience
        self._records: list[EpochRecord] = []
        self.mean, self.variance = self._state.networks.mean, self._state.networks.variance
        self.mean_epoch, self.variance_epoch = 0, 0
        self.error, self.nll = math.inf, math.inf

    @property
    def epochs(self) -> int:
        """How many there were."""
        return len(self._records)

    @property
    def active(self) -> bool:
        """Whether the last improvement is recent enough to go on."""
        return self.epochs - max(self.mean_epoch, self.variance_epoch) < self._patience

    def step(self, rate: float) -> None:
        """One epoch with that learning rate; what got better is kept."""
        key = jax.random.fold_in(self._key, self.epochs + 1)
        batches, held = self._split.epoch(), self._split.validation
        learning_rate = np.asarray(rate, np.float32)
        self._state, record = self._epoch(self._state, batches, held, key, learning_rate)
        record = jax.tree.map(float, record)
        self._records.append(record)
        networks = self._state.networks
        if record.validation.error < self.error:
            self.mean, self.mean_epoch = networks.mean, self.epochs
            self.error = record.validation.error
        if record.validation.nll < self.nll:
            self.variance, self.variance_epoch = networks.variance, self.epochs
            self.nll = record.validation.nll

    def result(self) -> Member:
        """The best networks, and a report in plain numbers; lists have an entry per epoch."""
        records = self._records
        history = {
            "mean_train_error": [record.train.error for record in records],
            "mean_validation_error": [record.validation.error for record in records],
            "train_nll": [record.train.nll for record in records],
            "validation_nll": [record.validation.nll for record in records],
            "bonus": [record.bonus for record in records],
        }
        probed = [r.probe_variance for r in records if r.probe_variance is not None]
        if probed:
            history["probe_variance"] = probed
        report = {
            "epochs": self.epochs,
            "mean_best_epoch": self.mean_epoch,
            "mean_squared_error": self.error,
            "best_epoch": self.variance_epoch,
            "best_train_nll": history["train_nll"][self.variance_epoch - 1],
            "best_validation_nll": self.nll,
            "final_bonus": history["bonus"][-1],
            **history,
        }
        return Member(DensityNetworks(self.mean, self.variance), report)


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
    number of them. `advance` counts to `config.max_epochs`.
    """
    _check_members(data, config, members)
    data = jax.tree.map(jnp.asarray, data)
    runs = [MemberFit(data, config, dropout, member) for member in range(members)]
    rates = falling_rates(config.learning_rate, config.max_epochs)
    _train_together(runs, rates, advance)
    _check_trained(runs)
    return [run.result() for run in runs]


def _train_together(runs: list[MemberFit], rates: Sequence[float], advance: Advance) -> None:
    """Train all members to their ends; a free core takes an epoch of whoever is furthest behind.

    Nobody waits for the others at the end of an epoch, so that no core is idle before the last.
    """
    lock, idle, shown, stopped = Lock(), list(runs), 0, Event()

    def show() -> None:
        nonlocal shown
        done = min((one.epochs for one in runs if one.active), default=max(r.epochs for r in runs))
        if done > shown:
            shown = done
            advance(done, f"validation NLL {np.mean([one.nll for one in runs]):.3f}")

    def work() -> None:
        while True:
            with lock:
                waiting = [run for run in idle if run.active and run.epochs < len(rates)]
                if stopped.is_set() or not waiting:
                    return
                run = min(waiting, key=lambda one: one.epochs)
                idle.remove(run)
            try:
                run.step(rates[run.epochs])
                with lock:
                    idle.append(run)
                    show()
            except BaseException:
                stopped.set()  # nobody waits for this thread before the others have ended
                raise

    runs[0].step(rates[0])  # compiles for all: threads would each do it again
    show()
    count = thread_count()
    with ThreadPoolExecutor(count) as pool:
        try:
            for future in [pool.submit(work) for _ in range(count)]:
                future.result()
        finally:
            stopped.set()  # an error or Ctrl-C: the others end with their epoch


def _check_members(data: Data, config: NetworkConfig, members: int) -> None:
    """Refuse networks that the machine cannot hold, before the first is made."""
    sizes = data.x.shape[1], data.actions.shape[1]
    made = jax.eval_shape(lambda key: start(key, *sizes, config.objective), jax.random.key(0))
    needed = members * sum(4 * leaf.size for leaf in jax.tree.leaves(made))
    remedy = "Give narrower 'network.hidden' layers, or fewer 'network.members'."
    require_memory(needed, f"To fit {members} network(s)", remedy)


def falling_rates(first: float, epochs: int) -> list[float]:
    """A learning rate for each epoch: half a cosine, from the first rate down to nearly 0."""
    return [0.5 * first * (1.0 + math.cos(math.pi * i / epochs)) for i in range(epochs)]


def _check_trained(runs: list[MemberFit]) -> None:
    if not all(run.mean_epoch and run.variance_epoch for run in runs):
        raise UserError(
            "The network's validation likelihood was never finite. Look for extreme values in "
            "the demonstrations, lower `learning_rate`, or raise `variance_floor`."
        )
