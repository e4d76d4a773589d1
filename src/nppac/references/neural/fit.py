"""Trains any number of independent networks, each with its own split and early stopping."""

import os
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from nppac.nn.mlp import MLP
from nppac.references.neural.config import NetworkConfig
from nppac.references.neural.epoch import Data
from nppac.references.neural.group import Group
from nppac.utils.errors import UserError
from nppac.utils.progress import Advance, silent


class Training(NamedTuple):
    """Networks at their best epochs, stacked along a first axis, and a report on each."""

    network: MLP
    reports: list[dict[str, Any]]


def fit_networks(
    data: Data,
    config: NetworkConfig,
    members: int = 1,
    dropout: float = 0.0,
    advance: Advance = silent,
    stacked: bool | None = None,
) -> Training:
    """Fit `members` networks to standardised states and actions.

    `stacked` runs all members side by side in one call of the program, which fills an accelerator;
    it is the default there. On processors each member is a call of its own, and the cores share
    them: its weights then stay in a core's cache, and one that has stopped costs nothing. The
    first k members are the same for any number of them. `advance` counts to `config.max_epochs`.
    """
    stacked = jax.default_backend() != "cpu" if stacked is None else stacked
    numbers = [range(members)] if stacked else [[k] for k in range(members)]
    groups = [Group(data, config, dropout, part, stacked) for part in numbers]
    with ThreadPoolExecutor(_cores()) as pool:
        for epoch in range(1, config.max_epochs + 1):
            running = [group for group in groups if group.active.any()]
            if not running:
                break
            # The first one compiles for all: threads would each do it again.
            run_all = pool.map if epoch > 1 else map
            _finish(run_all(lambda group: group.run(), running))
            losses = np.concatenate([group.least for group in groups])
            advance(epoch, f"validation NLL {losses.mean():.3f}")
    _check_trained(groups)
    networks = [group.networks() for group in groups]
    network = jax.tree.map(lambda *leaves: jnp.concatenate(leaves), *networks)
    return Training(network, [report for group in groups for report in group.reports()])


def _finish(results: Iterable[None]) -> None:
    for _ in results:
        pass


def _cores() -> int:
    """Cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _check_trained(groups: list[Group]) -> None:
    if not all((group.best_epoch > 0).all() for group in groups):
        raise UserError(
            "The network's validation likelihood was never finite. Look for extreme values in "
            "the demonstrations, lower `learning_rate`, or raise `variance_floor`."
        )
