"""Where demonstrators come to rest; on a task that asks for motion this is a failure.

A reference that is fitted to a demonstrator who lies still learns to lie still. Rewards are not
needed to see it: the state hardly changes any more, to the end of the episode.
"""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from jaxtyping import Float

from nppac.demos.data import Demos, cut_episode
from nppac.utils.errors import UserError

WINDOW = 50
"""Steps over which the state is watched."""
STILL = 0.25
"""It rests if its standard deviation in a window is below this share of that of all states."""
FALL = 150
"""Steps before the rest that are left out too: they led to it."""


def without_rest(demos: Demos) -> tuple[Demos, list[str]]:
    """Episodes cut before their demonstrators come to rest, and a note if any were."""
    rests = list(_rests(demos))
    if all(rest is None for rest in rests):
        return demos, []
    pairs = zip(demos.episodes, rests, strict=True)
    episodes = [e if rest is None else cut_episode(e, rest - FALL) for e, rest in pairs]
    kept = replace(demos, episodes=tuple(e for e in episodes if len(e)))
    if not kept.episodes:
        raise UserError(
            f"All {len(demos)} demonstrations lie still within {FALL} steps, which on this task is "
            "a failure: give demonstrations that move."
        )
    count = sum(rest is not None for rest in rests)
    return kept, [
        f"{count} of {len(demos)} demonstrations end at rest, which on this task is a failure; "
        f"they are cut {FALL} steps before it ({kept.steps} of {demos.steps} steps are kept)."
    ]


def _rests(demos: Demos) -> Iterator[int | None]:
    """The step at which each episode comes to rest for good, or None."""
    scale = demos.obs.std(0)
    for episode in demos.episodes:
        yield rest_begins(episode.observations / np.where(scale > 0, scale, 1.0))


def rest_begins(obs: Float[np.ndarray, "t o"]) -> int | None:
    """The first step after which standardised states hardly change, to the end; None if they do."""
    if len(obs) < WINDOW:
        return None
    windows = np.lib.stride_tricks.sliding_window_view(obs, WINDOW, axis=0)
    moving = np.flatnonzero(windows.std(-1).mean(-1) >= STILL)
    if not len(moving):
        return 0
    last = int(moving[-1])
    return None if last == len(windows) - 1 else last + 1
