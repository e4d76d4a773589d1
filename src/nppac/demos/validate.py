"""What demonstrations must fulfil before anything is fitted to them, and what can be mended."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from nppac.demos.data import SEEDS, Demos
from nppac.demos.metadata import is_normalised
from nppac.types import Episode
from nppac.utils.errors import UserError


def validate(
    demos: Demos,
    *,
    obs_dim: int | None = None,
    action_dim: int | None = None,
    task_name: str = "the task",
) -> tuple[Demos, list[str]]:
    """The demonstrations mended where that is safe, with a note for each thing that was mended.

    Actions beyond [-1, 1] are clipped where they are known to be normalised; elsewhere they stay,
    as they may be in the environment's units.

    Raises a `UserError` that names the episode and step (both from 0) for what cannot be mended.
    """
    if not demos.episodes:
        raise UserError(f"{_name(demos)} hold no episodes; record or load at least one.")
    notes: list[str] = []
    episodes = [_check_lengths(demos, i, e) for i, e in enumerate(demos.episodes)]
    notes += _longer_notes(demos.episodes)
    _check_dims(demos, episodes, obs_dim, action_dim, task_name)
    for i, episode in enumerate(episodes):
        _check_finite(demos, i, episode)
    kept = _drop_single_steps(demos, episodes, notes)
    metadata = _seeds_of_kept(demos, [len(e) > 1 for e in episodes])
    return replace(demos, episodes=tuple(_clip(demos, kept, notes)), metadata=metadata), notes


def _name(demos: Demos) -> str:
    return f"The demonstrations {demos.source}" if demos.source else "The demonstrations"


def _fail(demos: Demos, where: str, problem: str, remedy: str) -> UserError:
    return UserError(f"{_name(demos)}: {where} {problem}. {remedy}.")


def _check_lengths(demos: Demos, index: int, episode: Episode) -> Episode:
    """The episode with rewards and successes cut to one per action."""
    where, steps, rows = f"episode {index}", len(episode), len(episode.observations)
    if steps == 0:
        raise _fail(demos, where, "has no actions", "Remove it from the file")
    if rows not in (steps, steps + 1):
        raise _fail(
            demos,
            where,
            f"has {rows} observations for {steps} actions",
            f"Expected {steps}, or {steps + 1} with the one after the last action",
        )
    return replace(
        episode,
        rewards=_one_per_action(demos, index, "rewards", episode.rewards, steps),
        successes=_one_per_action(demos, index, "successes", episode.successes, steps),
    )


def _one_per_action(
    demos: Demos, index: int, key: str, values: np.ndarray | None, steps: int
) -> np.ndarray | None:
    if values is not None and len(values) not in (steps, steps + 1):
        raise _fail(
            demos,
            f"episode {index}",
            f"has {len(values)} {key} for {steps} actions",
            f"Give one for each action, or leave '{key}' out",
        )
    return None if values is None else values[:steps]


def _longer_notes(episodes: Sequence[Episode]) -> list[str]:
    notes = []
    for key in ("rewards", "successes"):
        values = [(getattr(e, key), len(e)) for e in episodes]
        longer = [i for i, (v, steps) in enumerate(values) if v is not None and len(v) > steps]
        if longer:
            notes.append(
                f"Dropped the last of the {key} in {_episodes(longer)}: one more than actions."
            )
    return notes


def _check_dims(
    demos: Demos,
    episodes: Sequence[Episode],
    obs_dim: int | None,
    action_dim: int | None,
    task_name: str,
) -> None:
    """Sizes against the task, or against the first episode where the task's are not given."""
    for key, given in (("observations", obs_dim), ("actions", action_dim)):
        expected = getattr(episodes[0], key).shape[1] if given is None else given
        authority = "episode 0 has" if given is None else f"{task_name} has"
        for i, episode in enumerate(episodes):
            found = getattr(episode, key).shape[1]
            if found != expected:
                raise _fail(
                    demos,
                    f"episode {i}, step 0:",
                    f"{key} have {found} entries where {authority} {expected}",
                    "Choose the task they were recorded on, or record them again",
                )


def _check_finite(demos: Demos, index: int, episode: Episode) -> None:
    for key in ("observations", "actions", "rewards"):
        values = getattr(episode, key)
        if values is None or np.isfinite(values).all():
            continue
        step, *column = np.argwhere(~np.isfinite(values))[0].tolist()
        entry = f", entry {column[0]}" if column else ""
        raise _fail(
            demos,
            f"episode {index}, step {step}:",
            f"{key}{entry} is {values[(step, *column)]}",
            "Expected a finite number; remove or repair the episode",
        )


def _drop_single_steps(
    demos: Demos, episodes: Sequence[Episode], notes: list[str]
) -> list[Episode]:
    short = [i for i, e in enumerate(episodes) if len(e) == 1]
    if len(short) == len(episodes):
        raise UserError(
            f"{_name(demos)} hold only episodes of one step, which are no behaviour to imitate; "
            "check that the ends of episodes are marked rightly."
        )
    if short:
        notes.append(f"Dropped {_episodes(short)}: one step only.")
    return [e for e in episodes if len(e) > 1]


def _seeds_of_kept(demos: Demos, kept: Sequence[bool]) -> Mapping[str, object]:
    """The metadata, in which every episode that is kept has its own seed still."""
    provenance = demos.metadata.get("provenance")
    if not isinstance(provenance, Mapping):
        return demos.metadata
    seeds = provenance.get(SEEDS)
    if not isinstance(seeds, list) or len(seeds) < len(kept):
        return demos.metadata
    own = [seed for seed, keep in zip(seeds, kept, strict=False) if keep]
    return {**demos.metadata, "provenance": {**provenance, SEEDS: own}}


def _clip(demos: Demos, episodes: Sequence[Episode], notes: list[str]) -> list[Episode]:
    beyond = sum(int((np.abs(e.actions) > 1).sum()) for e in episodes)
    if not beyond:
        return list(episodes)
    total = sum(e.actions.size for e in episodes)
    largest = max(float(np.abs(e.actions).max()) for e in episodes)
    if not is_normalised(demos.metadata):
        notes.append(
            f"Kept {beyond} of {total} action values beyond [-1, 1], the largest of magnitude "
            f"{largest:.4g}: they may be in the environment's units. A task decides what they mean."
        )
        return list(episodes)
    notes.append(
        f"Clipped {beyond} of {total} action values to [-1, 1]; the largest magnitude was "
        f"{largest:.4g}."
    )
    return [replace(e, actions=np.clip(e.actions, -1, 1)) for e in episodes]


def _episodes(indices: Sequence[int]) -> str:
    if len(indices) == 1:
        return f"episode {indices[0]}"
    shown = ", ".join(map(str, indices[:8])) + (", ..." if len(indices) > 8 else "")
    return f"{len(indices)} episodes ({shown})"
