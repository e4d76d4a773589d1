"""Arrays that flow between modules, named after the paper's notation.

s `obs`, s' `next_obs`, a `action`, r `reward`, 1 - terminated `discount_mask`,
mu_0 `loc`, sigma_0 `scale`. Rewards, values and log-probabilities have shape (B,), never (B, 1).
"""

from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from jaxtyping import Array, Float

AnyArray = Array | np.ndarray
"""An array on the device or on the host."""

Scalar = Float[Array, ""]
"""A single number, such as a loss."""
Obs = Float[AnyArray, "*batch o"]
"""Observations s, one or many."""
Actions = Float[AnyArray, "*batch d"]
"""Actions a, one or many; also their locations and scales."""
LogProbs = Float[AnyArray, "*batch"]
"""Log-densities, one for each action."""
Values = Float[AnyArray, " batch"]
"""One number for each transition of a minibatch: values, rewards, log-ratios."""
ActionSamples = Float[AnyArray, "count batch d"]
"""Several actions at each state."""
ValueSamples = Float[AnyArray, "count batch"]
"""One number for each of several actions at each state."""

Family = Literal["normal", "laplace", "uniform"]
"""Family of a reference's density; static, so that a compiled update is specialised to it."""


class ReferenceStats(NamedTuple):
    """Location and scale of a reference at each state, which determine its density."""

    loc: Float[AnyArray, "*batch d"]
    scale: Float[AnyArray, "*batch d"]


class NStepOutcome(NamedTuple):
    """What follows each transition of a minibatch, up to n steps within its own episode.

    `reward` = Σ_{j<n} γʲ r_{t+j}; `obs` is the state after them and `reference` the reference's
    statistics there; `discount` = γⁿ, or 0 if the task terminated within the n steps.
    """

    reward: Float[AnyArray, "*batch"]
    obs: Float[AnyArray, "*batch o"]
    discount: Float[AnyArray, "*batch"]
    reference: ReferenceStats


class Batch(NamedTuple):
    """A minibatch of transitions with the reference's statistics at both ends.

    `episode_end` is 1 at the last transition of an episode, whether the episode terminated, reached
    its time limit or was cut by the end of collection. `n_step` is set only for agents that ask
    for it.
    """

    obs: Float[AnyArray, "*batch o"]
    action: Float[AnyArray, "*batch d"]
    reward: Float[AnyArray, "*batch"]
    next_obs: Float[AnyArray, "*batch o"]
    discount_mask: Float[AnyArray, "*batch"]
    reference: ReferenceStats
    next_reference: ReferenceStats
    episode_end: Float[AnyArray, "*batch"]
    n_step: NStepOutcome | None = None


class DemoBatch(NamedTuple):
    """Demonstrated states and actions with the reference's statistics, for pretraining a policy."""

    obs: Float[AnyArray, "*batch o"]
    action: Float[AnyArray, "*batch d"]
    reference: ReferenceStats


@dataclass(frozen=True)
class Episode:
    """One episode: observations (T+1, o), or (T, o) if the last one was not recorded.

    Actions (T, d) are in the task's normalised range [-1, 1]. Rewards (T,) and successes (T,) are
    None where unknown. `terminated` is a true end of the task; a time limit leaves it False.
    """

    observations: np.ndarray
    actions: np.ndarray
    rewards: np.ndarray | None = None
    successes: np.ndarray | None = None
    terminated: bool = False

    def __len__(self) -> int:
        return len(self.actions)
