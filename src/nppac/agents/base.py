"""The protocol between training and an agent of any method."""

from typing import Any, NamedTuple, Protocol, TypeGuard, runtime_checkable

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Bool, PRNGKeyArray

from nppac.agents.replay import Replay
from nppac.types import Actions, AnyArray, Batch, DemoBatch, Family, Obs, ReferenceStats, Scalar

State = Any
"""A pytree of arrays that a method defines: networks, optimiser states, counters."""

Info = dict[str, Scalar]
"""Scalars that an update reports, averaged over an epoch into the run's metrics."""


class BatchSpec(NamedTuple):
    """The minibatch that one update takes.

    `replayed` rows of the replay are followed by `demonstrated` rows of the demonstrations. If
    `minibatches` is a number, even 1, the batch has a leading axis of that length. With `n_step`
    the batch holds what follows each transition, with rewards discounted by `discount`.
    """

    replayed: int
    demonstrated: int = 0
    minibatches: int | None = None
    n_step: int = 0
    discount: float = 1.0


class Actor(Protocol):
    """Hashable settings with pure functions of a state, which are compiled once for each task."""

    @property
    def anchored(self) -> bool:
        """Whether acting needs the reference's statistics."""
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
        self, state: State, obs: Obs, reference: ReferenceStats | None, key: PRNGKeyArray
    ) -> Actions:
        """Exploring actions; `reference` is None unless the agent is anchored."""
        ...

    def mode(self, state: State, obs: Obs, reference: ReferenceStats | None) -> Actions:
        """Deterministic actions, for evaluation."""
        ...


@runtime_checkable
class MinibatchAgent(Actor, Protocol):
    """A method that learns from random minibatches of transitions."""

    def batch_spec(self, batch_size: int) -> BatchSpec:
        """The minibatch that an update takes."""
        ...

    def update(
        self, state: State, batch: Batch, key: PRNGKeyArray, family: Family
    ) -> tuple[State, Info]:
        """One gradient step of everything that learns."""
        ...


@runtime_checkable
class ReplayAgent(Actor, Protocol):
    """A method that learns from whole episodes: from the whole replay, in the order of time.

    An on-policy method has a replay that holds exactly one epoch.
    """

    @property
    def updates_per_epoch(self) -> int:
        """Gradient steps that one call of `learn` makes."""
        ...

    def learn(
        self, state: State, replay: Replay, demos: Replay | None, key: PRNGKeyArray, family: Family
    ) -> tuple[State, Info]:
        """All gradient steps at the end of an epoch."""
        ...


@runtime_checkable
class CalibratedAgent(Protocol):
    """A method that sets something by the first transitions, before its first update."""

    def calibrated(self, state: State, replay: Replay) -> State:
        """The state in the units of what the replay holds."""
        ...


@runtime_checkable
class StandardisingAgent(Protocol):
    """A method whose networks may see the world in the demonstrations' units."""

    def with_demo_units(self, state: State, obs: np.ndarray, actions: np.ndarray) -> State:
        """A fresh state whose networks measure in the units of these, where asked to."""
        ...


@runtime_checkable
class SearchingAgent(Protocol):
    """A method whose evaluated policy searches where it is lost."""

    lost_scale: float
    lost_ratio: float
    max_lost_steps: int | None

    def searching(self, action: Actions, obs: Obs, stats: ReferenceStats) -> Actions:
        """The action, with noise of the given scale where that exceeds `lost_scale`."""
        ...

    def is_lost(self, scale: Actions) -> Bool[AnyArray, "*batch"]:
        """Where the mean scale over actions exceeds `lost_scale`."""
        ...


Agent = MinibatchAgent | ReplayAgent


def knows_lost(agent: object) -> TypeGuard[SearchingAgent]:
    """Whether the agent tells by a scale where it is lost."""
    return isinstance(agent, SearchingAgent) and agent.lost_scale > 0


def split_rows(batch: Batch, replayed: int) -> tuple[Batch, Batch]:
    """The replayed and the demonstrated rows of a minibatch, or of each of several."""
    rows = batch.reward.ndim - 1  # after the axis of minibatches, if there is one
    columns, treedef = jax.tree.flatten(batch)
    pairs = [jnp.split(column, [replayed], axis=rows) for column in columns]
    first, rest = (treedef.unflatten(part) for part in zip(*pairs, strict=True))
    return first, rest
