"""Demonstrations from episodes that were just rolled out."""

from collections.abc import Iterable, Mapping
from dataclasses import replace

import numpy as np

from nppac.demos.build import build_episode
from nppac.demos.data import Demos
from nppac.demos.metadata import ACTIONS, ENV_ID, NORMALISED
from nppac.tasks.rollout import Act
from nppac.types import Episode
from nppac.utils.errors import UserError


def noisy(act: Act, noise: float, seed: int) -> Act:
    """A policy with Gaussian noise on its actions, inside the box; the same noise for a seed.

    What a demonstrator does after small mistakes is what teaches to recover from them.
    """
    if not 0.0 <= noise <= 2.0:
        raise UserError(f"'noise' is {noise:g}; actions are in [-1, 1], so give 0 to 2.")
    if not noise:
        return act
    rng = np.random.default_rng(seed)

    def acted(obs: np.ndarray) -> np.ndarray:
        actions = act(obs)
        drawn = actions + noise * rng.standard_normal(actions.shape)
        return np.clip(drawn, -1.0, 1.0).astype(np.float32)

    return acted


def with_intended_actions(episode: Episode, act: Act) -> Episode:
    """The episode with what a deterministic policy intended at each state, in place of what it did.

    Disturbed states with undisturbed actions teach to recover without teaching the disturbance
    (Laskey et al., 2017: DART).
    """
    intended = np.asarray(act(episode.observations[: len(episode)]), np.float32)
    return replace(episode, actions=np.clip(intended, -1.0, 1.0))


def demos_from_episodes(
    episodes: Iterable[Episode],
    *,
    env_id: str,
    env_kwargs: Mapping[str, object],
    provenance: Mapping[str, object],
) -> Demos:
    """Demonstrations that know the environment they were recorded in and how they were made."""
    converted = tuple(
        build_episode(
            f"recorded episode {i}", e.observations, e.actions, e.rewards, e.successes, e.terminated
        )
        for i, e in enumerate(episodes)
    )
    metadata = {
        ENV_ID: env_id,
        ACTIONS: NORMALISED,  # `make_env` takes no others
        "env_kwargs": dict(env_kwargs),
        "provenance": dict(provenance),
    }
    return Demos(converted, f"recorded in {env_id}", metadata)
