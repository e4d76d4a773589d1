"""What every reference policy offers: statistics at states, a summary, and a file."""

from abc import ABC, abstractmethod
from pathlib import Path
from typing import ClassVar

import numpy as np

from nppac.types import Family, ReferenceStats
from nppac.utils.files import write_arrays

Arrays = dict[str, np.ndarray]
"""What a file holds, by name."""


class Reference(ABC):
    """A frozen behavioural policy pi_0(a|s), known by its location and scale at each state."""

    kind: ClassVar[str]
    """Under this word a file says how it is to be read."""
    family: Family

    @abstractmethod
    def __call__(self, obs: np.ndarray) -> ReferenceStats:
        """Location and scale at each of the (n, o) states: float32 arrays of shape (n, d)."""

    @abstractmethod
    def mean(self, obs: np.ndarray) -> np.ndarray:
        """Location alone, (n, d): what the reference would do without noise."""

    @abstractmethod
    def arrays(self) -> Arrays:
        """Everything that `from_arrays` needs; no Python objects."""

    @classmethod
    @abstractmethod
    def from_arrays(cls, arrays: Arrays) -> "Reference":
        """The reference that `arrays` described."""

    @abstractmethod
    def summary(self) -> dict[str, object]:
        """The few numbers that describe this reference on one screen."""

    def far_scale(self) -> np.ndarray | None:
        """The scale (d) of its answers far from all data; None where no such limit is known."""
        return None

    def save(self, path: str | Path) -> None:
        """Write everything that `load_reference` needs, without pickle."""
        write_arrays(path, named_arrays(self))


def named_arrays(reference: Reference) -> Arrays:
    """The reference's arrays and its kind: all that a file of it holds."""
    return {"kind": np.asarray(reference.kind), **reference.arrays()}
