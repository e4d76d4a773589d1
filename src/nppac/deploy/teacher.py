"""A trained run as a teacher: its policy, and its actions at the states of its replay."""

from pathlib import Path
from typing import NamedTuple

import numpy as np

from nppac.deploy.dataset import LabelledStates, labelled_states
from nppac.tasks.rollout import Act
from nppac.training.checkpoint import load_visited
from nppac.training.config import RunConfig
from nppac.training.restore import TrainedRun, load_trained_run
from nppac.types import ReferenceStats
from nppac.utils.errors import UserError

CHUNK = 1024


class Teacher(NamedTuple):
    """Who is imitated."""

    config: RunConfig
    """That of its run."""
    act: Act
    """Its deterministic policy."""
    replayed: LabelledStates
    """What it does at the states of its replay, oldest first; there may be none."""


def load_teacher(
    directory: str | Path, replayed: int, *, trust: bool = False, latest: bool = False
) -> Teacher:
    """The run's policy, and lessons at no more than so many states, the newest of its replay."""
    if Path(directory).is_file():
        raise UserError(
            f"{directory} is a file; give the directory of a run, which `nppac train` wrote."
        )
    trained = load_trained_run(directory, trust=trust, latest=latest)
    obs, stats = load_visited(trained.checkpoint)
    newest = slice(max(0, len(obs) - replayed), None)
    known = ReferenceStats(stats.loc[newest], stats.scale[newest])
    return Teacher(trained.config, trained.policy(), label_replayed(trained, obs[newest], known))


def label_replayed(trained: TrainedRun, obs: np.ndarray, stats: ReferenceStats) -> LabelledStates:
    """What the policy does at states where the answers of its reference are known already."""
    parts = [np.zeros((0, stats.loc.shape[1]), np.float32)]
    for start in range(0, len(obs), CHUNK):
        rows = slice(start, start + CHUNK)
        known = ReferenceStats(stats.loc[rows], stats.scale[rows])
        try:
            parts.append(trained.policy(lambda _, known=known: known)(obs[rows]))
        except TypeError as error:  # shapes that do not fit
            raise UserError(
                f"{trained.checkpoint} holds a replay of other states than the run's: of shape "
                f"{obs.shape}. Restore a copy of it."
            ) from error
    return labelled_states(obs, np.concatenate(parts))
