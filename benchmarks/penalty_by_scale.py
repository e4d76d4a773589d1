"""Where a run pays its penalty: reward and KL per step, by how sure the reference is.

    python benchmarks/penalty_by_scale.py runs/halfcheetah-nppac-seed0 --record

The replayed states of a run's checkpoint are divided by the reference's mean scale. If the penalty
is heavier where the reference is sure, the critics' target pays for leaving the demonstrations.
"""

import sys
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Annotated

import jax
import numpy as np
import tyro

from nppac.agents.kl_actor_critic import KLActorCritic
from nppac.agents.replay import empty_replay
from nppac.tasks import action_dim, get_task, make_env, obs_dim
from nppac.training.checkpoint import Checkpoint, load_newest
from nppac.training.config import RunConfig, read_config
from nppac.training.memory import state_shapes
from nppac.types import Family
from nppac.utils.errors import UserError
from rounds import write_record


@dataclass(frozen=True)
class Settings:
    runs: Annotated[tuple[Path, ...], tyro.conf.Positional]
    quantiles: tuple[float, ...] = (0.0, 0.5, 0.9, 1.0)
    """Borders of the parts into which states are divided, by the reference's scale there."""
    newest: int = 20_000
    """Use at most so many of the newest transitions."""
    family: Family = "normal"
    record: bool = False
    """Write the record to `results/benchmarks`."""


def checkpoint_of(directory: Path) -> tuple[RunConfig, Checkpoint]:
    config = read_config(directory)
    env = make_env(get_task(config.task))
    sizes = obs_dim(env), action_dim(env)
    replay = empty_replay(min(config.schedule.replay_capacity, config.schedule.steps), *sizes)
    found = load_newest(directory, state_shapes(config.agent, *sizes), replay)
    if found is None:
        raise UserError(f"{directory} has no checkpoint.")
    return config, found


def rows_of(directory: Path, settings: Settings) -> list[dict[str, float]]:
    """For each part of the states: share, scale, reward, KL and penalty, as means over them."""
    config, found = checkpoint_of(directory)
    agent = config.agent
    if not isinstance(agent, KLActorCritic):
        raise UserError(f"{directory} is a run of {config.method}, which has no KL to a reference.")
    size = int(found.replay.size)
    recent = slice(max(0, size - settings.newest), size)
    batch = jax.tree.map(lambda column: column[recent], found.replay.storage)
    policy, key = found.state.policy, jax.random.key(0)
    _, kl = agent.act_with_log_ratio(policy, batch.obs, batch.reference, key, settings.family)
    scale = np.mean(batch.reference.scale, axis=-1)
    borders = np.quantile(scale, settings.quantiles)
    weight = float(agent.weight(found.state, agent.values(found.state, batch.obs, batch.action)))
    rows = []
    for low, high in pairwise(borders):
        here = (scale >= low) & (scale <= high)
        means = {"scale": scale, "reward": batch.reward, "kl": kl, "penalty": weight * kl}
        rows.append({name: round(float(np.mean(v[here])), 3) for name, v in means.items()})
    return rows


def main(settings: Settings) -> None:
    found = {}
    for directory in settings.runs:
        found[directory.name] = rows_of(directory, settings)
        for row in found[directory.name]:
            print(f"{directory.name}: {row}", file=sys.stderr, flush=True)
    if settings.record:
        write_record("penalty_by_scale", {"quantiles": settings.quantiles, "runs": found})


if __name__ == "__main__":
    try:
        main(tyro.cli(Settings, description=__doc__))
    except UserError as error:
        sys.exit(f"error: {error}")
