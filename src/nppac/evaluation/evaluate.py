"""How good a policy is: returns, and the share of episodes in which it succeeds."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TypedDict

import gymnasium as gym
import numpy as np

from nppac.agents.schedule import Schedule
from nppac.tasks import TaskSpec, make_env
from nppac.tasks.rollout import Act, episode_seeds, rollout
from nppac.types import Episode
from nppac.utils.errors import UserError
from nppac.utils.progress import Advance, progress_bar, silent


class EvaluationRecord(TypedDict):
    """An evaluation as plain values for a record or JSON."""

    return_mean: float
    return_std: float
    success_any: float | None
    success_end: float | None
    returns: list[float]
    lengths: list[int]


@dataclass(frozen=True)
class Evaluation:
    """The outcome of some episodes; successes are None where the task reports none."""

    returns: tuple[float, ...]
    """Undiscounted return of each episode."""
    lengths: tuple[int, ...]
    """Steps of each episode."""
    success_any: float | None = None
    """Share of episodes that succeed at any step: the paper's measure."""
    success_end: float | None = None
    """Share of episodes whose last step is a success: what was reached was also held."""

    @property
    def return_mean(self) -> float:
        """Mean return over the episodes."""
        return float(np.mean(self.returns))

    @property
    def return_std(self) -> float:
        """Standard deviation of the return over these very episodes (divided by n)."""
        return float(np.std(self.returns))

    def as_dict(self) -> EvaluationRecord:
        """Everything as plain values for a record or JSON."""
        return {
            "return_mean": self.return_mean,
            "return_std": self.return_std,
            "success_any": self.success_any,
            "success_end": self.success_end,
            "returns": list(self.returns),
            "lengths": list(self.lengths),
        }


def evaluate_in(
    envs: Sequence[gym.Env],
    act: Act,
    *,
    episodes: int,
    seed: int,
    advance: Advance = silent,
) -> Evaluation:
    """Run `act` for so many episodes; the same `seed` always gives the same initial states."""
    if episodes < 1:
        raise ValueError(f"an evaluation needs at least one episode, not {episodes}")
    done = 0

    def on_episode(episode: Episode) -> None:
        nonlocal done
        done += 1
        advance(done, f"return {_return(episode):.1f}")

    seeds = islice(episode_seeds(seed, "evaluation"), episodes)
    return summarise_episodes(rollout(envs, act, seeds, on_episode=on_episode))


def summarise_episodes(episodes: Sequence[Episode]) -> Evaluation:
    """The evaluation that these episodes amount to."""
    return Evaluation(
        returns=tuple(_return(episode) for episode in episodes),
        lengths=tuple(len(episode) for episode in episodes),
        success_any=_share([_successes(episode, np.any) for episode in episodes]),
        success_end=_share([_successes(episode, lambda s: s[-1]) for episode in episodes]),
    )


def _return(episode: Episode) -> float:
    assert episode.rewards is not None
    return float(episode.rewards.sum(dtype=np.float64))


def _successes(episode: Episode, reduce: Callable[[np.ndarray], np.bool_]) -> bool | None:
    return None if episode.successes is None else bool(reduce(episode.successes))


def _share(successes: Sequence[bool | None]) -> float | None:
    """Share of True; an episode that says nothing is no success if another says something."""
    if all(success is None for success in successes):
        return None
    return float(np.mean([bool(success) for success in successes]))


def evaluate_policy(spec: TaskSpec, act: Act, episodes: int, seed: int) -> EvaluationRecord:
    """Returns and successes of a deterministic policy, with progress."""
    if episodes < 1:
        raise UserError(f"An evaluation needs at least one episode, not {episodes}.")
    envs = [make_env(spec) for _ in range(min(Schedule.eval_envs, episodes))]
    with progress_bar("Evaluating", episodes) as advance:
        return evaluate_in(envs, act, episodes=episodes, seed=seed, advance=advance).as_dict()
