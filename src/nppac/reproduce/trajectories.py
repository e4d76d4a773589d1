"""Where each reference's mean takes the hand on a door that no demonstration has opened."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from nppac.demos import Demos
from nppac.diagnostics.online import variance_of
from nppac.references import UniformReference, fit_gp
from nppac.references.base import Reference
from nppac.references.gp.config import WORK
from nppac.references.neural.network import fit_network
from nppac.reproduce.sources import ComputeBudget, Sources, load_source
from nppac.tasks import get_task, make_env
from nppac.tasks.rollout import episode_seeds, rollout
from nppac.types import Episode
from nppac.utils.files import write_arrays
from nppac.utils.progress import Advance, after, silent

TASK = "door"
PALM = slice(29, 32)
"""Where the door task's observation holds the position of the palm, in metres."""
HANDLE = slice(32, 35)
"""Where it holds the position of the handle."""


def compute_trajectories(
    path: Path, sources: Sources, budget: ComputeBudget, advance: Advance = silent
) -> tuple[str, ...]:
    """Mean trajectories of GP, network and uniform reference from one start to one new goal."""
    demos = load_source(sources, TASK, budget)
    data, settings = (demos.obs, demos.actions), budget.gp(TASK)
    gp = fit_gp(*data, settings, after(0, advance, "GP:"))
    network = fit_network(*data, budget.network(), after(WORK, advance, "network:"))
    references = {
        "Gaussian process": gp,
        "network": network,
        "uniform": UniformReference(demos.action_dim),
    }
    write_arrays(path, trajectories(references, demos, seed=next(episode_seeds(0, "new goal"))))
    return ()


def trajectories(
    references: Mapping[str, Reference], demos: Demos, seed: int
) -> dict[str, np.ndarray]:
    """Palm positions and predictive variances along each reference's own mean trajectory."""
    env = make_env(get_task(TASK))
    arrays = {"names": np.asarray(list(references)), **_goal(demos)}
    for i, reference in enumerate(references.values()):
        (episode,) = rollout([env], reference.mean, [seed])
        states = episode.observations[:-1]
        variance = variance_of(reference.family, reference(states).scale).mean(-1)
        arrays |= {
            f"{i}_palm": states[:, PALM],
            f"{i}_variance": variance,
            f"{i}_success": np.asarray(_succeeded(episode)),
        }
        arrays["goal"] = states[0, HANDLE]
    env.close()
    return arrays


def _goal(demos: Demos) -> dict[str, np.ndarray]:
    """Where the demonstrations began and ended up, for comparison."""
    return {
        "demo_goals": np.stack([e.observations[0, HANDLE] for e in demos.episodes]),
        "demo_palms": np.concatenate(
            [
                np.concatenate([e.observations[: len(e), PALM], np.full((1, 3), np.nan)])
                for e in demos.episodes
            ]
        ),
    }


def _succeeded(episode: Episode) -> bool:
    return episode.successes is not None and bool(episode.successes.any())
