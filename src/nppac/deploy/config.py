"""Settings of a distillation."""

from typing import Annotated

from pydantic import Field

from nppac.utils.settings import (
    NaturalNumber,
    OpenFraction,
    Positive,
    Seed,
    Size,
    Widths,
    settings,
)

UPDATES = 10_000
"""Gradient steps of a round, where no number of epochs is given."""


@settings
class DistillConfig:
    """How the student learns, and from how much."""

    hidden: Widths = (256, 256)
    """Width of each hidden layer of the student."""
    rounds: NaturalNumber = 3
    """Rounds in which the student acts and the teacher says what it would have done."""
    episodes: Annotated[Size, Field(ge=2)] = 20
    """Episodes of each round, and of the teacher before the first; one is only tested on."""
    epochs: Size | None = None
    """Passes over all lessons in each round; by default as many as make 10,000 gradient steps."""
    seed: Seed = 0
    """Seed of the episodes, of the initial weights and of the minibatches."""
    learning_rate: Positive = 1e-3
    """Learning rate of Adam at the start of each round; it falls to zero as a cosine does."""
    batch_size: Size = 256
    """Lessons in a minibatch."""
    replayed: NaturalNumber = 50_000
    """Most states that are taken from the run's replay: the newest."""
    held_out: OpenFraction = 0.1
    """Part of the lessons that is only tested on."""

    def passes(self, lessons: int) -> int:
        """Passes of a round over so many lessons."""
        if self.epochs is not None:
            return self.epochs
        return max(1, round(UPDATES / -(-lessons // self.batch_size)))
