"""What searching where the reference is lost is worth, without any training.

    python benchmarks/lost_scale.py REFERENCE.npz --task halfcheetah --record

Acts by the reference's mean with several values of `lost_scale`, in the same episodes.
"""

import sys
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Annotated

import numpy as np
import tyro

from nppac.agents.anchored_actor_critic import Anchored
from nppac.references import Reference, load_reference
from nppac.tasks import get_task, make_env
from nppac.tasks.rollout import episode_seeds, rollout
from nppac.training.incumbent import reference_policy, return_of
from nppac.utils.errors import UserError
from rounds import write_record


@dataclass(frozen=True)
class Settings:
    reference: Annotated[Path, tyro.conf.Positional]
    task: str = "halfcheetah"
    lost_scales: tuple[float, ...] = (0.0, 0.58, 0.68, 0.73)
    episodes: int = 192
    envs: int = 32
    seed: int = 100
    """Of the episodes; 100 is a tuning seed."""
    failed_below: float = 6_000.0
    """An episode that returns less counts as failed."""
    record: bool = False
    """Write the record to `results/benchmarks`."""


def returns(settings: Settings, reference: Reference, lost_scale: float) -> np.ndarray:
    """The return of each episode."""
    envs = [make_env(get_task(settings.task)) for _ in range(settings.envs)]
    policy = reference_policy(Anchored(lost_scale=lost_scale), reference)
    seeds = islice(episode_seeds(settings.seed, "lost scale"), settings.episodes)
    return np.array([return_of(episode) for episode in rollout(envs, policy, seeds)])


def row(settings: Settings, found: np.ndarray, base: np.ndarray) -> dict[str, float]:
    """Mean return, failed episodes, and the gain over the first value of `lost_scale`."""
    root = np.sqrt(len(found))
    return {
        "return": round(float(found.mean()), 1),
        "standard_error": round(float(found.std() / root), 1),
        "failed": int((found < settings.failed_below).sum()),
        "gain": round(float((found - base).mean()), 1),
        "gain_standard_error": round(float((found - base).std() / root), 1),
    }


def main(settings: Settings) -> None:
    reference = load_reference(settings.reference)
    found: dict[float, np.ndarray] = {}
    rows: dict[str, dict[str, float]] = {}
    for lost_scale in settings.lost_scales:
        found[lost_scale] = returns(settings, reference, lost_scale)
        base = found[settings.lost_scales[0]]
        rows[str(lost_scale)] = row(settings, found[lost_scale], base)
        print(f"lost_scale {lost_scale}: {rows[str(lost_scale)]}", file=sys.stderr, flush=True)
    if settings.record:
        facts = {
            "reference": settings.reference.name,
            "episodes": settings.episodes,
            "seed": settings.seed,
            "failed_below": settings.failed_below,
        }
        write_record(f"lost_scale-{settings.task}", {**facts, "by_lost_scale": rows})


if __name__ == "__main__":
    try:
        main(tyro.cli(Settings, description=__doc__))
    except UserError as error:
        sys.exit(f"error: {error}")
