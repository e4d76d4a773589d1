"""What every reference policy offers: statistics at states, a summary, and a file."""

from abc import ABC, abstractmethod
from pathlib import Path

import numpy as np

from nppac.types import Family, ReferenceStats


class Reference(ABC):
    """A frozen behavioural policy pi_0(a|s), known by its location and scale at each state."""

    family: Family

    @abstractmethod
    def __call__(self, obs: np.ndarray) -> ReferenceStats:
        """Location and scale at each of the (n, o) states: float32 arrays of shape (n, d)."""

    @abstractmethod
    def mean(self, obs: np.ndarray) -> np.ndarray:
        """Location alone, (n, d): what the reference would do without noise."""

    @abstractmethod
    def save(self, path: str | Path) -> None:
        """Write everything that `references.load` needs, without pickle."""

    @abstractmethod
    def summary(self) -> dict[str, object]:
        """The few numbers that describe this reference on one screen."""
