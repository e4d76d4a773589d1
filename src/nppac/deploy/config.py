"""Settings of a distillation."""

from dataclasses import dataclass

from nppac.utils.errors import UserError, check_seed

UPDATES = 10_000
"""Gradient steps of a round, where no number of epochs is given."""


@dataclass(frozen=True)
class DistillConfig:
    """How the student learns, and from how much."""

    hidden: tuple[int, ...] = (256, 256)
    """Width of each hidden layer of the student."""
    rounds: int = 3
    """Rounds in which the student acts and the teacher says what it would have done."""
    episodes: int = 20
    """Episodes of each round, and of the teacher before the first."""
    epochs: int | None = None
    """Passes over all lessons in each round; by default as many as make 10,000 gradient steps."""
    seed: int = 0
    """Seed of the episodes, of the initial weights and of the minibatches."""
    learning_rate: float = 1e-3
    """Learning rate of Adam at the start of each round; it falls to zero as a cosine does."""
    batch_size: int = 256
    """Lessons in a minibatch."""
    replayed: int = 50_000
    """Most states that are taken from the run's replay: the newest."""
    held_out: float = 0.1
    """Part of the lessons that is only tested on."""

    def __post_init__(self) -> None:
        check_seed(self.seed)
        if any(width < 1 for width in self.hidden):
            raise UserError("The width of a hidden layer must be at least 1.")
        self._require("episodes", self.episodes >= 2, "at least 2: one is only tested on")
        self._require("epochs", self.epochs is None or self.epochs >= 1, "at least 1")
        self._require("batch_size", self.batch_size >= 1, "at least 1")
        self._require("learning_rate", self.learning_rate > 0, "positive")
        self._require("held_out", 0 < self.held_out < 1, "between 0 and 1")
        for name in ("rounds", "replayed"):
            self._require(name, getattr(self, name) >= 0, "0 or more")

    def _require(self, name: str, holds: bool, expectation: str) -> None:
        if not holds:
            raise UserError(f"'{name}' is {getattr(self, name)}; it must be {expectation}.")

    def passes(self, lessons: int) -> int:
        """Passes of a round over so many lessons."""
        if self.epochs is not None:
            return self.epochs
        return max(1, round(UPDATES / -(-lessons // self.batch_size)))
