"""What the student learns from: states, and what the teacher does there."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from nppac.tasks.rollout import Act
from nppac.utils.batching import map_in_chunks

STRETCH = 100
"""Steps of the replay that are kept or held out together."""


class LabelledStates(NamedTuple):
    """States (n, o) and the teacher's actions (n, d) there."""

    obs: np.ndarray
    actions: np.ndarray

    def __len__(self) -> int:  # pyright: ignore[reportIncompatibleMethodOverride] (rows, not fields)
        return self.obs.shape[0]


def labelled_states(obs: np.ndarray, actions: np.ndarray) -> LabelledStates:
    """The lessons with actions as an environment takes them: it clips what lies beyond [-1, 1]."""
    return LabelledStates(obs, np.clip(actions, -1.0, 1.0).astype(np.float32))


def label_states(obs: np.ndarray, teacher: Act) -> LabelledStates:
    """What the teacher does at these states, queried many at a time."""
    return labelled_states(obs, *map_in_chunks(lambda rows: (teacher(rows),), obs))


def joined(parts: Iterable[LabelledStates]) -> LabelledStates:
    """All lessons in one."""
    obs, actions = zip(*((part.obs, part.actions) for part in parts), strict=True)
    return LabelledStates(np.concatenate(obs), np.concatenate(actions))


def stretches(lessons: LabelledStates) -> list[LabelledStates]:
    """Lessons in the order of time, cut into pieces."""
    starts = range(0, len(lessons), STRETCH)
    return [LabelledStates(*(column[i : i + STRETCH] for column in lessons)) for i in starts]


def split(
    pieces: Sequence[LabelledStates], held_out: float, rng: np.random.Generator
) -> tuple[list[LabelledStates], list[LabelledStates]]:
    """Pieces to learn from and pieces to test on: at least one each, if there are two.

    A piece is an episode or a part of one: neighbours in time are so alike that single steps of an
    episode whose others were learned would test nothing.
    """
    count = min(max(1, round(held_out * len(pieces))), len(pieces) - 1)
    tested = set(rng.permutation(len(pieces))[:count].tolist())
    kept = [piece for i, piece in enumerate(pieces) if i not in tested]
    return kept, [pieces[i] for i in sorted(tested)]
