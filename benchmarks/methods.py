"""Gradient steps per second of every method beside SAC's, on the shapes of one task.

    python benchmarks/methods.py --task halfcheetah

Rounds of all methods are interleaved, so that a noisy machine is noisy for all alike. A method
that takes several critic steps for one of its policy counts as one step; the table says how many.
AWR and DAPG learn an epoch at once, in many steps of small networks: each of those counts.
"""

import argparse
import statistics
import time

import jax
import numpy as np
from rich.table import Table

from nppac.agents.base import Agent, ReplayAgent
from nppac.agents.registry import METHODS
from nppac.agents.replay import Replay, as_replay
from nppac.cli.show import console
from nppac.references import ConstantVarianceReference, UniformReference
from nppac.tasks import (
    action_dim,
    get_task,
    make_env,
    obs_dim,
)
from nppac.training.presets import preset
from nppac.training.transitions import transitions
from nppac.training.updates import run_updates
from nppac.types import Episode
from nppac.utils.files import write_json
from nppac.utils.provenance import commit

RECORD = "results/benchmarks/methods.json"
EPISODES, LENGTH = 10, 500


def synthetic_replay(observations: int, actions: int) -> Replay:
    """Episodes of a random walk: shapes and value ranges count here, not what they mean."""
    rng = np.random.default_rng(0)

    def episode() -> Episode:
        return Episode(
            rng.normal(size=(LENGTH + 1, observations)).cumsum(0).astype(np.float32) * 0.05,
            rng.uniform(-1, 1, (LENGTH, actions)).astype(np.float32),
            rng.normal(size=LENGTH).astype(np.float32),
        )

    reference = ConstantVarianceReference(UniformReference(actions), 0.04)
    return as_replay(transitions([episode() for _ in range(EPISODES)], reference))


def rate(agent: Agent, state, replay: Replay, updates: int, batch_size: int, family) -> float:
    """Gradient steps per second of one round."""
    if isinstance(agent, ReplayAgent):
        updates = agent.updates_per_epoch
    began = time.monotonic()
    state, _ = run_updates(
        agent, state, replay, jax.random.key(1), updates, batch_size, family, replay
    )
    jax.block_until_ready(state)
    return updates / (time.monotonic() - began)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--task", default="halfcheetah")
    parser.add_argument("--batch-size", type=int, default=256)
    parser.add_argument("--updates", type=int, default=500)
    parser.add_argument("--rounds", type=int, default=5)
    args = parser.parse_args()

    env = make_env(get_task(args.task))
    shape = obs_dim(env), action_dim(env)
    replay = synthetic_replay(*shape)
    agents = {name: preset(args.task, name).agent for name in METHODS}
    families = {n: "uniform" if m.reference == "uniform" else "normal" for n, m in METHODS.items()}
    rates: dict[str, list[float]] = {name: [] for name in agents}
    for round_number in range(args.rounds + 1):
        for name, agent in agents.items():
            state = agent.init(jax.random.key(0), *shape)
            value = rate(agent, state, replay, args.updates, args.batch_size, families[name])
            if round_number:  # the first round compiles
                rates[name].append(value)
    medians = {name: statistics.median(values) for name, values in rates.items()}
    table = Table("method", "updates/s", "beside SAC", "critic steps in each")
    for name, median in sorted(medians.items(), key=lambda item: -item[1]):
        epochal = isinstance(agents[name], ReplayAgent)
        steps = "" if epochal else getattr(agents[name], "utd_ratio", 1)
        table.add_row(name, f"{median:.0f}", f"{median / medians['sac']:.2f}", str(steps))
    console().print(table)
    record = {"settings": vars(args), "updates_per_second": rates, "commit": commit()}
    write_json(RECORD.replace(".json", f"-{args.task}.json"), record)


if __name__ == "__main__":
    main()
