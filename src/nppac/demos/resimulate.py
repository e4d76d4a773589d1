"""Replays recorded actions in the task's environment, to obtain its rewards and successes."""

from collections.abc import Callable
from typing import Any, NamedTuple

import gymnasium as gym
import numpy as np

from nppac.tasks import obs_dim, success_of
from nppac.types import Episode

Correct = Callable[[np.ndarray, np.ndarray], None]
"""Called with the observation that was reached and the recorded one, after each step."""


class Repeated(NamedTuple):
    """What the environment gave at each step, and how far it led from the recorded observation.

    Rewards (T,), successes (T,) or None, errors (n, o) where n observations could be compared.
    """

    rewards: np.ndarray
    successes: np.ndarray | None
    errors: np.ndarray


def _simulator(env: gym.Env) -> Any:
    """The innermost environment, whose own attributes Gymnasium's types do not know."""
    return env.unwrapped


def observes_state(env: gym.Env) -> bool:
    """Whether observations hold MuJoCo's positions, but for at most two, and all velocities.

    So they do for the runners of Gymnasium, whose place in the world is nobody's concern.
    """
    base = _simulator(env)
    if not (hasattr(base, "set_state") and hasattr(base, "model") and hasattr(base, "data")):
        return False
    return 0 <= base.model.nq + base.model.nv - obs_dim(env) <= 2


def repeat_from_states(env: gym.Env, episode: Episode) -> Repeated:
    """Take each action in the recorded state, in an environment that `observes_state`.

    The simulation runs on from step to step and only the entries that differ from the record are
    corrected, so that what observations do not tell survives: velocities beyond the range that
    they are clipped to, and positions of bodies that a reward compares with the step before.
    """
    env.reset(seed=0)
    base = _simulator(env)
    hidden = base.model.nq + base.model.nv - obs_dim(env)
    shown = base.model.nq - hidden
    first = episode.observations[0].astype(np.float64)
    base.set_state(np.concatenate([base.init_qpos[:hidden], first[:shown]]), first[shown:])

    def correct(reached: np.ndarray, recorded: np.ndarray) -> None:
        differs = reached != recorded
        qpos, qvel = base.data.qpos[hidden:], base.data.qvel
        qpos[differs[:shown]] = recorded[:shown][differs[:shown]]
        qvel[differs[shown:]] = recorded[shown:][differs[shown:]]

    return _repeat(env, episode, [], correct)


def repeat_from_seed(env: gym.Env, episode: Episode, seed: int) -> Repeated:
    """Repeat an episode from the seed of its reset."""
    first, _ = env.reset(seed=seed)
    errors = [np.abs(first - episode.observations[0])]
    return _repeat(env, episode, errors, lambda reached, recorded: None)


def _repeat(env: gym.Env, episode: Episode, errors: list[np.ndarray], correct: Correct) -> Repeated:
    rewards, successes = [], []
    for action, recorded in zip(episode.actions, _outcomes(episode), strict=True):
        reached, reward, _, _, info = env.step(np.clip(action, -1.0, 1.0))
        rewards.append(float(reward))
        successes.append(success_of(info))
        if recorded is not None:
            errors.append(np.abs(reached - recorded))
            correct(reached, recorded)
    flags = None if None in successes else np.array(successes, bool)
    return Repeated(np.array(rewards, np.float32), flags, np.stack(errors))


def _outcomes(episode: Episode) -> list[np.ndarray | None]:
    """The observation that each step led to; None where the last one was not recorded."""
    following = list(episode.observations[1:])
    return following + [None] * (len(episode) - len(following))
