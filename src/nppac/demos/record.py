"""Demonstrations from episodes that were just rolled out."""

from collections.abc import Iterable, Mapping

from nppac.demos.build import build_episode
from nppac.demos.data import Demos
from nppac.demos.metadata import ACTIONS, ENV_ID, NORMALISED
from nppac.types import Episode


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
