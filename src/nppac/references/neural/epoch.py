"""One epoch of likelihood training as one compiled program, for one member or a stack of them."""

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax

from nppac.nn.mlp import MLP
from nppac.nn.policies import POLICY_LAST_BOUND
from nppac.references.neural.config import NetworkConfig
from nppac.references.neural.model import (
    moments,
    negative_log_likelihood,
    objective,
    tuned_bonus,
)


class Member(NamedTuple):
    """All that training changes; in a stack, every array has the members as its first axis."""

    network: MLP
    optimiser: Any
    bonus: Any
    """β of the entropy bonus."""
    best: MLP
    """The parameters of the best epoch so far."""
    least: Any
    """Their validation loss."""


class Rows(NamedTuple):
    """What a member sees in an epoch."""

    batches: Any
    """Steps of the demonstrations to train on, (batches, size)."""
    validation: Any
    """Steps to validate on."""
    kept: tuple[Any, ...] | None = None
    """For each hidden layer (batches, size, width): whether dropout keeps a unit; None for all."""


class Record(NamedTuple):
    """What an epoch tells about a member."""

    train_nll: Any
    validation_nll: Any
    bonus: Any
    probe_variance: Any


class Data(NamedTuple):
    """Standardised states (N, o), actions (N, d), and states (n, o) to be probed, or None."""

    x: Any
    actions: Any
    probe: Any


@partial(jax.jit, static_argnames=("obs_dim", "action_dim", "config", "stacked"))
def start(key: Any, obs_dim: int, action_dim: int, config: NetworkConfig, stacked: bool) -> Member:
    """A fresh member, or a stack of them from as many keys."""

    def one(key: Any) -> Member:
        network = MLP(key, obs_dim, config.hidden, 2 * action_dim, POLICY_LAST_BOUND)
        optimiser = optax.adam(config.learning_rate).init(network)  # pyright: ignore[reportArgumentType]
        bonus = jnp.asarray(config.initial_bonus)
        return Member(network, optimiser, bonus, network, jnp.asarray(jnp.inf))

    return (jax.vmap(one) if stacked else one)(key)


@partial(jax.jit, static_argnames=("config", "dropout", "stacked"), donate_argnames=("member",))
def train_epoch(
    member: Member,
    rows: Rows,
    key: Any,
    active: Any,
    data: Data,
    config: NetworkConfig,
    dropout: float,
    stacked: bool,
) -> tuple[Member, Record]:
    """A pass of a member, or of every member of a stack, over its own minibatches.

    The best parameters of one that is not `active` stay as they are.
    """
    each = partial(_epoch, data=data, config=config, dropout=dropout)
    return (jax.vmap(each) if stacked else each)(member, rows, key, active)


def _epoch(
    member: Member,
    rows: Rows,
    key: Any,
    active: Any,
    data: Data,
    config: NetworkConfig,
    dropout: float,
) -> tuple[Member, Record]:
    def step(member: Member, inputs: tuple[Any, Any, Any]) -> tuple[Member, Any]:
        chosen, kept, i = inputs
        drawn, masks = jax.random.fold_in(key, i), inverted(kept, dropout)
        return _step(member, data.x[chosen], data.actions[chosen], drawn, config, masks)

    scanned = (rows.batches, rows.kept, jnp.arange(len(rows.batches)))
    member, nll = jax.lax.scan(step, member, scanned)
    left = rows.validation
    validation = negative_log_likelihood(member.network, data.x[left], data.actions[left], config)
    probed = None
    if data.probe is not None:
        probed = jnp.mean(moments(member.network(data.probe), config.floor)[1])
    record = Record(jnp.mean(nll), validation, member.bonus, probed)
    return _keep_best(member, validation, active), record


def _step(
    member: Member,
    x: Any,
    actions: Any,
    key: Any,
    config: NetworkConfig,
    masks: tuple[Any, ...] | None,
) -> tuple[Member, Any]:
    gradient = jax.grad(objective, has_aux=True)
    slope, terms = gradient(member.network, member.bonus, x, actions, key, config, masks)
    updates, optimiser = optax.adam(config.learning_rate).update(slope, member.optimiser)
    network: Any = optax.apply_updates(member.network, updates)  # pyright: ignore[reportArgumentType]
    bonus = member.bonus
    if config.tuned:
        bonus = tuned_bonus(bonus, terms.entropy, actions.shape[-1], config)
    return member._replace(network=network, optimiser=optimiser, bonus=bonus), terms.nll


def inverted(kept: tuple[Any, ...] | None, dropout: float) -> tuple[Any, ...] | None:
    """Masks that keep the expectation: 1/(1 - p) where a unit is kept, 0 where it is dropped."""
    return None if kept is None else tuple(mask / (1.0 - dropout) for mask in kept)


def _keep_best(member: Member, validation: Any, active: Any) -> Member:
    better = active & (validation < member.least)
    best = jax.tree.map(lambda new, old: jnp.where(better, new, old), member.network, member.best)
    return member._replace(best=best, least=jnp.where(better, validation, member.least))
