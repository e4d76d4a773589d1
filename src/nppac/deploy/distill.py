"""Dataset aggregation: the student acts, the teacher labels its states, and the student learns.

A student that errs reaches states that its teacher never visits. The teacher's episodes do not
contain them; the student's own episodes do.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import count, islice

import gymnasium as gym
import numpy as np

from nppac.deploy.config import DistillConfig
from nppac.deploy.dataset import (
    LabelledStates,
    joined,
    label_states,
    labelled_states,
    split,
    stretches,
)
from nppac.deploy.numpy_policy import NumpyPolicy
from nppac.deploy.student import Student, error, fit_student, fresh_student, plain
from nppac.evaluation.evaluate import summarise_episodes
from nppac.tasks.rollout import Act, episode_seeds, rollout
from nppac.types import Episode
from nppac.utils.progress import Advance, progress_bar


@dataclass(frozen=True)
class DaggerRound:
    """What a round came to."""

    driver: str
    """Who acted: the teacher in the first round, then the student as it was before the round."""
    return_mean: float
    """Mean return of the driver's episodes."""
    success_any: float | None
    """Share of them that succeed at any step; None where the task reports none."""
    lessons: int
    """Lessons to learn from by then, those of all rounds so far."""
    error: float
    """Root mean squared error of an action on them, after the round."""
    held_out_error: float
    """The same on the lessons that are only tested on."""


def distill(
    envs: Sequence[gym.Env],
    teacher: Act,
    replayed: LabelledStates,
    config: DistillConfig,
    task: str,
) -> tuple[NumpyPolicy, list[DaggerRound]]:
    """The student, and what each round came to, with progress; `replayed` may be empty."""
    rng, seeds = np.random.default_rng(config.seed), episode_seeds(config.seed, "distillation")
    kept, tested = split(stretches(replayed), config.held_out, rng) if len(replayed) else ([], [])
    student: Student | None = None
    policy: NumpyPolicy | None = None
    rounds: list[DaggerRound] = []
    for number in range(config.rounds + 1):
        driver = "teacher" if policy is None else "student"
        with progress_bar(f"Round {number}: the {driver} acts", config.episodes) as advance:
            episodes = _drive(envs, policy or teacher, islice(seeds, config.episodes), advance)
        more, held = split(_label_episodes(episodes, teacher, driver), config.held_out, rng)
        kept, tested = kept + more, tested + held
        lessons = joined(kept)
        student = student or fresh_student(lessons, config)
        passes = config.passes(len(lessons))
        with progress_bar(f"Round {number}: the student learns", passes) as advance:
            student = fit_student(student, lessons, config, rng, advance)
        policy = plain(student, task)
        errors = error(policy, lessons), error(policy, joined(tested))
        outcome = summarise_episodes(episodes)
        facts = (driver, outcome.return_mean, outcome.success_any, len(lessons), *errors)
        rounds.append(DaggerRound(*facts))
    assert policy is not None
    return policy, rounds


def _drive(
    envs: Sequence[gym.Env], act: Act, seeds: Iterable[int], advance: Advance
) -> list[Episode]:
    done = count(1)
    return rollout(envs, act, seeds, on_episode=lambda _: advance(next(done)))


def _label_episodes(episodes: Sequence[Episode], teacher: Act, driver: str) -> list[LabelledStates]:
    """What the teacher does, or would have done, in each episode."""
    if driver == "teacher":
        return [labelled_states(e.observations[: len(e)], e.actions) for e in episodes]
    lessons = label_states(np.concatenate([e.observations[: len(e)] for e in episodes]), teacher)
    ends = np.cumsum([len(e) for e in episodes])[:-1]
    columns = (np.split(column, ends) for column in lessons)
    return [LabelledStates(*piece) for piece in zip(*columns, strict=True)]
