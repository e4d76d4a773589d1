"""Rewards of demonstrations in the task's own convention, by its rule of success or by replaying.

Files come with rewards of their own making: dense ones, -1 and 0, or none. A method that learns
from them beside the environment's must not see two conventions in one replay.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Literal, NamedTuple, get_args

import gymnasium as gym
import numpy as np

from nppac.demos.data import SEEDS, Demos
from nppac.demos.resimulate import Repeated, observes_state, repeat_from_seed, repeat_from_states
from nppac.tasks import TaskSpec, make_env
from nppac.types import Episode
from nppac.utils.errors import UserError, unknown_name
from nppac.utils.text import shown

By = Literal["success", "replay"]
TOLERANCE = 0.5
"""How far a replayed step may lead from the recorded observation, in units of its own spread."""
SMALLEST_SPREAD = 1e-3
"""Spread of an observation's entry that hardly varies."""


class Relabelled(NamedTuple):
    """Demonstrations with new rewards, and how far each episode's replay strayed from its record.

    A deviation is the largest over the steps and entries of an episode, each entry in units of its
    standard deviation over all demonstrations. By a rule of success there are none.
    """

    demos: Demos
    deviations: tuple[float, ...] | None = None


def default_by(spec: TaskSpec) -> By:
    """By the rule of success where the task has one, else by replaying."""
    return "success" if spec.reward == "success" and spec.success_in is not None else "replay"


def relabel(demos: Demos, spec: TaskSpec, by: str | None = None, force: bool = False) -> Relabelled:
    """The demonstrations with the task's rewards, found in the way asked for."""
    by = default_by(spec) if by is None else by
    if by not in get_args(By):
        raise unknown_name("way to relabel", by, get_args(By))
    if by == "replay":
        return relabel_by_replay(demos, spec, force)
    if spec.reward != "success":
        raise UserError(
            f"The task {spec.name} is rewarded by its environment, not by success: relabel its "
            "demonstrations with --by replay."
        )
    return Relabelled(task_rewards(demos, spec))


def task_rewards(demos: Demos, spec: TaskSpec) -> Demos:
    """The demonstrations with rewards as the task gives them, found without its environment.

    For a task rewarded by success that is 1 at every step that succeeded and 0 elsewhere, whatever
    rewards were recorded: by the recorded successes, or else by the task's rule on the observation
    that the step led to. Without them a last step whose outcome was not recorded is dropped. For
    any other task the recorded rewards are its own.
    """
    if spec.reward == "success":
        episodes = (_by_success(demos, i, e, spec) for i, e in enumerate(demos.episodes))
        return replace(demos, episodes=tuple(episodes))
    if not demos.has_rewards:
        raise UserError(
            f"{_name(demos)} have no rewards, and the task {spec.name} cannot tell them from "
            f"observations. Add them with `nppac demos relabel {demos.source or 'FILE'} NEW.npz "
            f"--task {spec.name} --by replay`, or choose a method that needs none "
            "(`nppac methods` lists them)."
        )
    return demos


def _by_success(demos: Demos, index: int, episode: Episode, spec: TaskSpec) -> Episode:
    if episode.successes is None and spec.success_in is None:
        raise UserError(
            f"{_name(demos)}: episode {index} does not tell which steps succeeded, by which the "
            f"task {spec.name} is rewarded, and the task has no rule to tell it from observations. "
            "Give the task a `success_in`, or record the demonstrations anew."
        )
    if episode.successes is None and spec.success_in is not None:
        episode = _with_known_outcomes(episode)
        flags = np.asarray(spec.success_in(episode.observations[1:]), bool)
        episode = replace(episode, successes=flags)
    rewards = np.asarray(episode.successes, np.float32)[: len(episode)]
    return replace(episode, rewards=rewards)


def _with_known_outcomes(episode: Episode) -> Episode:
    """The episode without a last step whose outcome was not recorded."""
    steps = len(episode.observations) - 1
    if steps >= len(episode):
        return episode
    rewards = None if episode.rewards is None else episode.rewards[:steps]
    return replace(episode, actions=episode.actions[:steps], rewards=rewards, terminated=False)


def relabel_by_replay(demos: Demos, spec: TaskSpec, force: bool = False) -> Relabelled:
    """The demonstrations with what the environment gives for the same actions from the same states.

    Where observations hold the simulator's state, every step starts from the recorded one;
    elsewhere an episode is repeated from the seed of its reset. A replay that strays further than
    `TOLERANCE` is refused unless forced: its rewards are those of another episode.
    """
    env = make_env(spec)
    try:
        repeated = _repeat_all(env, demos, spec)
    finally:
        env.close()
    spread = np.maximum(np.std(demos.obs, axis=0), SMALLEST_SPREAD)
    deviations = tuple(float(np.max(r.errors / spread)) for r in repeated)
    if not force:
        _check_deviations(demos, spec, deviations)
    episodes = (
        replace(episode, rewards=r.rewards, successes=r.successes)
        for episode, r in zip(demos.episodes, repeated, strict=True)
    )
    return Relabelled(replace(demos, episodes=tuple(episodes)), deviations)


def _repeat_all(env: gym.Env, demos: Demos, spec: TaskSpec) -> list[Repeated]:
    if observes_state(env):
        return [repeat_from_states(env, episode) for episode in demos.episodes]
    pairs = zip(demos.episodes, _seeds(demos, spec), strict=True)
    return [repeat_from_seed(env, episode, seed) for episode, seed in pairs]


def _seeds(demos: Demos, spec: TaskSpec) -> list[int]:
    provenance = demos.metadata.get("provenance")
    seeds = provenance.get(SEEDS) if isinstance(provenance, Mapping) else None
    if not isinstance(seeds, list) or len(seeds) < len(demos):
        rule = " Its rule of success needs no replay: --by success." if spec.success_in else ""
        raise UserError(
            f"{_name(demos)} cannot be replayed in {spec.env_id}: its observations do not hold the "
            f"simulator's state, and the file does not hold the seed of each episode.{rule} "
            "`nppac demos record` keeps the seeds of what it records."
        )
    odd = [seed for seed in seeds if type(seed) is not int or not 0 <= seed < 2**32]
    if odd:
        raise UserError(f"{_name(demos)}: {shown(odd[0])} is no seed of an episode.")
    return seeds[: len(demos)]


def _check_deviations(demos: Demos, spec: TaskSpec, deviations: Sequence[float]) -> None:
    strayed = [i for i, deviation in enumerate(deviations) if not deviation <= TOLERANCE]
    if strayed:
        worst = max(strayed, key=lambda i: deviations[i])
        raise UserError(
            f"{_name(demos)}: {len(strayed)} of {len(demos)} episodes do not happen again in "
            f"{spec.env_id}; episode {worst} strays by {deviations[worst]:.3g} standard deviations "
            f"of an observation, where {TOLERANCE} are allowed. They may come from another version "
            "of the environment or from another task; --force takes the rewards all the same."
        )


def _name(demos: Demos) -> str:
    return f"The demonstrations {demos.source}".rstrip()
