"""What a diagnosis is made from, and what it says."""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from nppac.diagnostics.calibration import Calibration
from nppac.diagnostics.online import OnlinePolicy
from nppac.diagnostics.profile import Point
from nppac.diagnostics.verdict import EXIT_CODES, OffData, Thresholds, Verdict


@dataclass(frozen=True)
class Diagnosis:
    """The verdict on a reference and every number behind it."""

    verdict: Verdict
    explanation: str
    family: str
    on_data: Point | None = None
    off_data: Mapping[str, OffData] = field(default_factory=dict)
    """For each way off the data (`random`, `principal`, `rollout`), against the data."""
    profiles: Mapping[str, tuple[Point, ...]] = field(default_factory=dict)
    """Variance, KL and gradient against distance, for each way."""
    calibration: Calibration | None = None
    online: OnlinePolicy = field(default_factory=OnlinePolicy)
    thresholds: Thresholds = field(default_factory=Thresholds)
    notes: tuple[str, ...] = ()
    about: Mapping[str, object] = field(default_factory=dict)
    """Task, demonstrations and reference, where they are known."""

    @property
    def exit_code(self) -> int:
        """What a process that gives this diagnosis ends with."""
        return EXIT_CODES[self.verdict]

    def as_dict(self) -> dict[str, object]:
        """Everything as plain values for JSON."""
        return {**dataclasses.asdict(self), "exit_code": self.exit_code}


@dataclass(frozen=True, eq=False)
class Evidence:
    """What a reference is diagnosed with."""

    obs: np.ndarray
    """Demonstrated states (N, o), those that the reference was fitted to."""
    check_obs: np.ndarray
    """Demonstrated states on which the calibration is checked."""
    check_actions: np.ndarray
    check_episodes: int
    held_out: bool
    """Whether the states of the check were kept from the fit."""
    rollout_obs: np.ndarray | None = None
    """States that were reached by acting."""
