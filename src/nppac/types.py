"""The arrays that flow between modules, named after the paper's notation.

s `obs`, s' `next_obs`, a `action`, r `reward`, 1 - terminated `discount_mask`,
mu_0 `loc`, sigma_0 `scale`. Rewards, values and log-probabilities have shape (B,), never (B, 1).
"""

from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np

Family = Literal["normal", "laplace", "uniform"]
"""Family of a reference's density; static, so that a compiled update is specialised to it."""


class ReferenceStats(NamedTuple):
    """All that a reference's density needs at a state: location and scale, each (B, d)."""

    loc: Any
    scale: Any


class NStepOutcome(NamedTuple):
    """What follows each transition of a minibatch, up to n steps within its own episode.

    `reward` = Σ_{j<n} γʲ r_{t+j}; `obs` is the state after them, where the reference says
    `reference`; `discount` = γⁿ, or 0 where the task terminated on the way.
    """

    reward: Any
    obs: Any
    discount: Any
    reference: ReferenceStats


class Batch(NamedTuple):
    """A minibatch of transitions with the reference's statistics at both ends.

    `episode_end` is 1 at the last transition of an episode, be it a termination, a time limit or
    the end of collecting; `n_step` is there only for agents that ask for it.
    """

    obs: Any
    action: Any
    reward: Any
    next_obs: Any
    discount_mask: Any
    reference: ReferenceStats
    next_reference: ReferenceStats
    episode_end: Any
    n_step: NStepOutcome | None = None


class DemoBatch(NamedTuple):
    """States to pretrain a policy on: what the expert did there, and what the reference says."""

    obs: Any
    action: Any
    reference: ReferenceStats


@dataclass(frozen=True)
class Episode:
    """One episode: observations (T+1, o), or (T, o) where the last one was not recorded.

    Actions (T, d) are in the task's normalised range [-1, 1]. Rewards (T,) and successes (T,) may
    be unknown. `terminated` is a true end of the task; a time limit leaves it False.
    """

    observations: np.ndarray
    actions: np.ndarray
    rewards: np.ndarray | None = None
    successes: np.ndarray | None = None
    terminated: bool = False

    def __len__(self) -> int:
        return len(self.actions)
