"""Whole runs of the toy task in memory, with a reference that keeps what it was asked."""

import numpy as np

from nppac.evaluation.metrics import load_metrics
from nppac.references import Reference
from nppac.tasks import get_task, make_env
from nppac.tasks.rollout import collect
from nppac.training.loop import train_to_end
from nppac.training.problem import Problem
from nppac.types import ReferenceStats
from toy_task import ACTION_DIM, AGENT, OBS_DIM, SCHEDULE, TASK, expert


class Watched(Reference):
    """The expert with a constant scale; keeps what it was asked."""

    family = "normal"

    def __init__(self, scale=0.5):
        self.scale, self.asked = scale, []

    def __call__(self, obs):
        self.asked.append(obs.copy())
        return ReferenceStats(expert(obs), np.full((len(obs), ACTION_DIM), self.scale, np.float32))

    def mean(self, obs):
        return expert(obs)

    def arrays(self):
        raise AssertionError("the training loop saves no reference")

    @classmethod
    def from_arrays(cls, arrays):
        raise AssertionError("the training loop loads no reference")

    def summary(self):
        return {}


def make_problem(reference=None, demos=()):
    spec = get_task(TASK)
    return Problem(
        env=make_env(spec),
        eval_envs=(make_env(spec), make_env(spec)),
        reference=reference or Watched(),
        demos=demos,
        obs_dim=OBS_DIM,
        action_dim=ACTION_DIM,
    )


def run(directory, schedule=SCHEDULE, seed=0, agent=AGENT, **problem):
    directory.mkdir(exist_ok=True)
    return train_to_end(make_problem(**problem), agent, schedule, seed, directory)


def column(directory, name):
    return load_metrics(directory / "metrics.csv")[name]


def recorded(episodes=3):
    return tuple(collect(make_env(get_task(TASK)), expert, iter(range(99)), 7 * episodes))
