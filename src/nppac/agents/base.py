"""What training asks of an agent, whatever its method."""

from typing import Any, NamedTuple, Protocol, runtime_checkable

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from nppac.agents.replay import Replay
from nppac.types import Batch, DemoBatch, Family, ReferenceStats

State = Any
"""A pytree of arrays: networks, optimiser states and whatever else a method learns."""

Info = dict[str, Float[Array, ""]]
"""Scalars that an update reports, averaged over an epoch into the run's metrics."""


class BatchSpec(NamedTuple):
    """What one update is given: how many rows, from where, and how many steps after each.

    With `minibatches` the batch has a leading axis of that length, be it 1; without, it has none.
    Rows of demonstrations follow the replayed ones.
    """

    replayed: int
    demonstrated: int = 0
    minibatches: int | None = None
    n_step: int = 0
    discount: float = 1.0


class Actor(Protocol):
    """Hashable settings and pure functions of a state, compiled once per task shape."""

    @property
    def anchored(self) -> bool:
        """Whether to act it must be told what the reference says."""
        ...

    def init(self, key: PRNGKeyArray, obs_dim: int, action_dim: int) -> State:
        """Fresh networks and optimisers."""
        ...

    def pretrain_step(
        self, state: State, demo_batch: DemoBatch, key: PRNGKeyArray, family: Family
    ) -> tuple[State, Info]:
        """One step of pretraining the policy on demonstrated states; reports `pretrain_loss`."""
        ...

    def sample(
        self,
        state: State,
        obs: Float[Array, "batch o"],
        reference: ReferenceStats | None,
        key: PRNGKeyArray,
    ) -> Float[Array, "batch d"]:
        """Actions to explore with; `reference` is None unless the agent is anchored."""
        ...

    def mode(
        self, state: State, obs: Float[Array, "batch o"], reference: ReferenceStats | None
    ) -> Float[Array, "batch d"]:
        """Deterministic actions to be evaluated."""
        ...


@runtime_checkable
class MinibatchAgent(Actor, Protocol):
    """A method that learns from minibatches of transitions, in any order."""

    def batch_spec(self, batch_size: int) -> BatchSpec:
        """What an update takes."""
        ...

    def update(
        self, state: State, batch: Batch, key: PRNGKeyArray, family: Family
    ) -> tuple[State, Info]:
        """One gradient step on everything that learns."""
        ...


@runtime_checkable
class ReplayAgent(Actor, Protocol):
    """A method that learns from whole episodes: from all of the replay, in the order of time.

    An on-policy method is one whose replay holds no more than an epoch.
    """

    @property
    def updates_per_epoch(self) -> int:
        """Gradient steps that one call of `learn` makes."""
        ...

    def learn(
        self, state: State, replay: Replay, demos: Replay | None, key: PRNGKeyArray, family: Family
    ) -> tuple[State, Info]:
        """All that an epoch's end brings."""
        ...


Agent = MinibatchAgent | ReplayAgent


def split_rows(batch: Batch, replayed: int) -> tuple[Batch, Batch]:
    """A minibatch's replayed rows, and its rows of demonstrations; of several, those of each."""
    rows = batch.reward.ndim - 1  # behind the axis of minibatches, where there are several
    columns, treedef = jax.tree.flatten(batch)
    pairs = [jnp.split(column, [replayed], axis=rows) for column in columns]
    first, rest = (treedef.unflatten(part) for part in zip(*pairs, strict=True))
    return first, rest
