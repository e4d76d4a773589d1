"""What training asks of an agent, whatever its method."""

from typing import Any, Protocol, runtime_checkable

from jaxtyping import Array, Float, PRNGKeyArray

from nppac.types import Batch, Family, ReferenceStats

State = Any
"""A pytree of arrays: networks, optimiser states and whatever else a method learns."""

Info = dict[str, Float[Array, ""]]
"""Scalars that an update reports, averaged over an epoch into the run's metrics."""


@runtime_checkable
class Agent(Protocol):
    """A method: hashable settings and pure functions of a state, compiled once per task shape."""

    def init(self, key: PRNGKeyArray, obs_dim: int, action_dim: int) -> State:
        """Fresh networks and optimisers."""
        ...

    def update(
        self, state: State, batch: Batch, key: PRNGKeyArray, family: Family
    ) -> tuple[State, Info]:
        """One gradient step on everything that learns."""
        ...

    def clone_reference(
        self,
        state: State,
        obs: Float[Array, "batch o"],
        stats: ReferenceStats,
        key: PRNGKeyArray,
        family: Family,
    ) -> tuple[State, Info]:
        """One step of pretraining the policy towards the reference on demonstrated states."""
        ...

    def sample(
        self, state: State, obs: Float[Array, "batch o"], key: PRNGKeyArray
    ) -> Float[Array, "batch d"]:
        """Actions to explore with."""
        ...

    def mode(self, state: State, obs: Float[Array, "batch o"]) -> Float[Array, "batch d"]:
        """Deterministic actions to be evaluated."""
        ...
