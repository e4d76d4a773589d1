"""A set of demonstrations: episodes, where they came from, and the arrays that a reference fits."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from nppac.types import Episode
from nppac.utils.errors import UserError

SEEDS = "episode_seeds"
"""Where the provenance of demonstrations keeps the seed that each episode began with."""


@dataclass(frozen=True, eq=False)
class Demos:
    """Episodes of an expert; `metadata` may hold `env_id`, `env_kwargs` and `provenance`."""

    episodes: tuple[Episode, ...]
    source: str = ""
    metadata: Mapping[str, object] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.episodes)

    def __repr__(self) -> str:
        """Sizes and source in one line, instead of all the arrays."""
        sizes = f", {self.obs_dim} observations, {self.action_dim} actions" if self.episodes else ""
        return f"Demos({len(self)} episodes, {self.steps} steps{sizes}, source={self.source!r})"

    @property
    def obs(self) -> np.ndarray:
        """Every observation that was acted on, (N, o)."""
        return self.stack("observations")

    @property
    def actions(self) -> np.ndarray:
        """Every action, (N, d)."""
        return self.stack("actions")

    @property
    def obs_dim(self) -> int:
        """Number of entries of one observation."""
        self._require_episodes()
        return self.episodes[0].observations.shape[1]

    @property
    def action_dim(self) -> int:
        """Number of entries of one action."""
        self._require_episodes()
        return self.episodes[0].actions.shape[1]

    @property
    def steps(self) -> int:
        """Number of actions in all episodes together."""
        return sum(len(e) for e in self.episodes)

    @property
    def has_rewards(self) -> bool:
        """Whether every episode knows its rewards."""
        return bool(self.episodes) and all(e.rewards is not None for e in self.episodes)

    @property
    def fingerprint(self) -> str:
        """SHA-256 over all arrays, their shapes and the ends of the episodes."""
        digest = hashlib.sha256()
        for episode in self.episodes:
            for key in ("observations", "actions", "rewards", "successes"):
                array = getattr(episode, key)
                digest.update(f"{key}{None if array is None else array.shape}".encode())
                digest.update(b"" if array is None else np.ascontiguousarray(array).data)
            digest.update(str(episode.terminated).encode())
        return digest.hexdigest()

    def stack(self, key: str, extra: int = 0) -> np.ndarray:
        """An array of all episodes, with `extra` rows beyond one per action from each."""
        self._require_episodes()
        parts = [getattr(e, key)[: len(e) + extra] for e in self.episodes]
        sizes = sorted({part.shape[1:] for part in parts})
        if len(sizes) > 1:
            raise UserError(f"{self._name()}: {key} have rows of different shapes, {sizes}.")
        return np.concatenate(parts)

    def first(self, n: int) -> "Demos":
        """The first `n` episodes, or all of them where there are fewer."""
        _require_positive("episodes", n)
        return replace(self, episodes=self.episodes[:n])

    def truncate(self, steps: int) -> "Demos":
        """The first `steps` steps of each episode; one that is cut does not end in termination."""
        _require_positive("steps", steps)
        return replace(self, episodes=tuple(cut_episode(e, steps) for e in self.episodes))

    def _require_episodes(self) -> None:
        if not self.episodes:
            raise UserError(f"{self._name()}: no episodes; record or load at least one.")

    def _name(self) -> str:
        return f"The demonstrations {self.source}".rstrip()


def _require_positive(what: str, value: int) -> None:
    if value < 1:
        raise UserError(f"Cannot take the first {value} {what}: ask for 1 or more.")


def cut_episode(episode: Episode, steps: int) -> Episode:
    """The first `steps` steps; an episode that is cut does not end in termination."""
    steps = max(steps, 0)
    if len(episode) <= steps:
        return episode
    return Episode(
        observations=episode.observations[: steps + 1],
        actions=episode.actions[:steps],
        rewards=None if episode.rewards is None else episode.rewards[:steps],
        successes=None if episode.successes is None else episode.successes[:steps],
        terminated=False,
    )
