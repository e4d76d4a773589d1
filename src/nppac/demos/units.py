"""The units of actions: from the environment's own to [-1, 1], where a file or its user says so."""

from collections.abc import Mapping
from dataclasses import replace
from typing import get_args

import gymnasium
import numpy as np
from gymnasium import spaces

from nppac.demos.data import Demos
from nppac.demos.metadata import ACTIONS, ENV_ID, NORMALISED, ActionUnits, is_normalised
from nppac.types import Episode
from nppac.utils.errors import UserError, unknown_name

ROUNDING = 1e-3
"""So far beyond its bounds an action may be by the arithmetic of whoever wrote the file."""


def in_normalised_units(
    demos: Demos, env: gymnasium.Env, actions: str, source: str, action_dim: int
) -> Demos:
    """The demonstrations with actions in [-1, 1], by what `actions` or else the file says.

    `env` is the task's, as `make_env` made it. Values beyond the bounds stay for validation to
    clip, as the environment does. Where nobody says what the units are, an error asks.
    """
    if actions not in get_args(ActionUnits):
        raise unknown_name("units of actions", actions, get_args(ActionUnits))
    bounds = _own_bounds(env)
    if actions == "environment" and is_normalised(demos.metadata):
        raise UserError(
            f"{source} says that its actions are normalised to [-1, 1], not in the environment's "
            "units. Leave out --demo-actions environment."
        )
    scaled = bounds is not None and actions == "environment"
    if bounds is not None and actions == "auto" and not _says_normalised(demos):
        raise _unclear(demos, bounds, source)
    episodes = demos.episodes
    # Of other sizes than the task's: validation says so.
    if scaled and all(e.actions.shape[1] == action_dim for e in episodes):
        assert bounds is not None
        episodes = tuple(_scaled(e, bounds) for e in episodes)
    metadata: Mapping[str, object] = {**demos.metadata, ACTIONS: NORMALISED}
    return replace(demos, episodes=episodes, metadata=metadata)


def _own_bounds(env: gymnasium.Env) -> spaces.Box | None:
    """The environment's own action space; None where it is [-1, 1] already."""
    scaled = getattr(env, "env", env)  # by `make_env`, if its bounds are others than ±1
    if not isinstance(scaled, gymnasium.wrappers.RescaleAction):
        return None
    space = scaled.env.action_space
    assert isinstance(space, spaces.Box)
    return space


def _says_normalised(demos: Demos) -> bool:
    """Whether the file says so, or names its environment as this project does and fits."""
    return is_normalised(demos.metadata) or (ENV_ID in demos.metadata and _largest(demos) <= 1.0)


def _largest(demos: Demos) -> float:
    sizes = [float(np.abs(e.actions).max()) for e in demos.episodes if e.actions.size]
    return max(sizes, default=0.0)


def _scaled(episode: Episode, bounds: spaces.Box) -> Episode:
    low, high = bounds.low.astype(np.float64), bounds.high.astype(np.float64)
    actions = 2.0 * (episode.actions - low) / (high - low) - 1.0
    return replace(episode, actions=actions.astype(np.float32))


def _unclear(demos: Demos, bounds: spaces.Box, source: str) -> UserError:
    largest = _largest(demos)
    own = float(max(np.abs(bounds.low).max(), np.abs(bounds.high).max()))
    likely = "the first seems right" if largest > 1.0 else "both are possible"
    likely = "it is beyond both" if largest > own + ROUNDING and largest > 1.0 else likely
    return UserError(
        f"{source} does not say which units its actions are in. The environment's own bounds are "
        f"[{bounds.low.min():g}, {bounds.high.max():g}], and the largest value in the file is "
        f"{largest:.4g}: {likely}. Say --demo-actions environment (its own units) or "
        "--demo-actions normalised (scaled to [-1, 1])."
    )
