"""What a task is: an environment, its horizon and its reward."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal

import numpy as np


@dataclass(frozen=True)
class TaskSpec:
    """What a task is: which environment, for how long, and for which reward."""

    name: str
    env_id: str
    env_kwargs: Mapping[str, object] = field(default_factory=dict)
    horizon: int | None = None
    """Time limit in steps, a truncation; None keeps the environment's own, or 1000."""
    reward: Literal["environment", "success"] = "environment"
    """The environment's own reward, or 1 at every step that reports success and 0 elsewhere."""
    demo_steps: int | None = None
    """Keep only so many steps of each demonstration; None keeps them whole."""
    angles: tuple[int, ...] = ()
    """Observations that are unbounded angles: a turn more is the same posture, so they are wrapped
    to [-π, π), in the environment and in demonstrations."""
    rest_is_failure: bool = False
    """Whether a demonstrator that comes to rest has failed; demonstrations are cut before it."""
    description: str = ""
    success_in: Callable[[np.ndarray], np.ndarray] | None = None
    """Whether an observation is one of success: rows (n, o) to flags (n,); None where unknown."""

    def wrapped(self, obs: np.ndarray) -> np.ndarray:
        """Observations (..., o) with the task's angles in [-π, π)."""
        if not self.angles:
            return obs
        obs, index = obs.copy(), list(self.angles)
        with np.errstate(
            invalid="ignore"
        ):  # an infinite angle becomes NaN, which `rollout` reports
            obs[..., index] = (obs[..., index] + np.pi) % (2.0 * np.pi) - np.pi
        return obs
