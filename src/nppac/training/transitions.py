"""Episodes as transitions, with the reference's statistics beside each state.

The reference is frozen, so it is queried once for every new observation and its answer is stored: a
gradient step reads two arrays and never sees a Gaussian process or a network.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from nppac.references.checks import checked_answer
from nppac.types import Batch, Episode, ReferenceStats
from nppac.utils.errors import UserError


def demonstrations(
    episodes: Sequence[Episode], query: Callable[[np.ndarray], ReferenceStats]
) -> Batch:
    """Demonstrations as one batch of transitions; rewards that nobody recorded are NaN.

    So a method that needs rewards cannot go on without them unnoticed. An episode that lacks its
    last observation loses its last step, whose outcome is unknown.
    """
    return transitions([_complete(episode) for episode in episodes], query)


def _complete(episode: Episode) -> Episode:
    steps = min(len(episode), len(episode.observations) - 1)
    unknown = np.full(len(episode), np.nan, np.float32)
    rewards = unknown if episode.rewards is None else episode.rewards
    cut = steps < len(episode)
    return replace(
        episode,
        observations=episode.observations[: steps + 1],
        actions=episode.actions[:steps],
        rewards=np.asarray(rewards[:steps], np.float32),
        successes=None,
        terminated=episode.terminated and not cut,
    )


def transitions(
    episodes: Sequence[Episode], query: Callable[[np.ndarray], ReferenceStats]
) -> Batch:
    """The episodes as one batch; `query` is called once, with every new observation once."""
    observations = np.concatenate([episode.observations for episode in episodes])
    stats = checked_stats(query(observations), observations)
    first = _rows(episodes)
    return Batch(
        obs=observations[first],
        action=np.concatenate([episode.actions for episode in episodes]),
        reward=np.concatenate([rewards_of(episode) for episode in episodes]),
        next_obs=observations[first + 1],
        discount_mask=np.concatenate([_discount_mask(episode) for episode in episodes]),
        reference=_select(stats, first),
        next_reference=_select(stats, first + 1),
        episode_end=np.concatenate([_episode_end(episode) for episode in episodes]),
    )


def checked_stats(stats: ReferenceStats, observations: np.ndarray) -> ReferenceStats:
    """`stats`, or an error that says what is wrong with them and where."""
    return checked_answer(stats, len(observations))


def _rows(episodes: Sequence[Episode]) -> np.ndarray:
    starts = np.cumsum([0] + [len(episode.observations) for episode in episodes[:-1]])
    return np.concatenate(
        [start + np.arange(len(ep)) for start, ep in zip(starts, episodes, strict=True)]
    )


def rewards_of(episode: Episode) -> np.ndarray:
    """The episode's rewards, or an error where it has none."""
    if episode.rewards is None:
        raise UserError("These episodes have no rewards, and a replay for a critic needs them.")
    return np.asarray(episode.rewards, np.float32)


def _discount_mask(episode: Episode) -> np.ndarray:
    """1 everywhere but at a true termination; a time limit keeps bootstrapping."""
    mask = np.ones(len(episode), np.float32)
    mask[-1] = 0.0 if episode.terminated else 1.0
    return mask


def _episode_end(episode: Episode) -> np.ndarray:
    end = np.zeros(len(episode), np.float32)
    end[-1] = 1.0
    return end


def _select(stats: ReferenceStats, rows: np.ndarray) -> ReferenceStats:
    return ReferenceStats(stats.loc[rows], stats.scale[rows])
