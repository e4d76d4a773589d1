"""The whole loop beside Stable-Baselines3 and SBX: environment steps per second on HalfCheetah.

    python benchmarks/loop.py

One update for each environment step, no evaluation; all by turns. The peers learn as they do by
default, one update after every step, and once more in blocks of 1,000 steps and updates as ours do.
"""

import argparse
from collections.abc import Callable
from typing import Any

from rich.table import Table

import peers
from epochs import endless, epoch_seconds, random_gp
from nppac.cli.show import console
from nppac.references import Reference, UniformReference
from rounds import against, by_turns, machine, medians, write_record

TASK, ENV = "halfcheetah", "HalfCheetah-v5"
OBS_DIM, ACTION_DIM = 17, 6
POINTS = 5_000
FASTER = {"sbx": 1.5, "sb3": 2.0}
"""How many times a peer's rate SAC should have."""


def our_rate(method: str) -> Callable[[], float]:
    """A measurement: environment steps per second of one epoch."""
    reference: Reference = UniformReference(ACTION_DIM)
    if method == "nppac":
        reference = random_gp(POINTS, OBS_DIM, ACTION_DIM, "matern52")
    config = endless(TASK, method)
    seconds = epoch_seconds(config, reference)
    return lambda: config.schedule.epoch_steps / seconds()


def peer_settings(steps: int, block: int) -> dict[str, Any]:
    config = endless(TASK, "sac")
    return {
        "what": "loop",
        "count": steps,
        "env": ENV,
        "policy_hidden": config.agent.policy_hidden,
        "critic_hidden": config.agent.critic_hidden,
        "batch_size": config.schedule.batch_size,
        "block": block,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=1_000, help="of a peer in each round")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--no-peers", action="store_true", help="only ours, and no record")
    args = parser.parse_args()

    host, started = machine(), {}
    if not args.no_peers:
        kinds = [(library, block) for library in FASTER for block in (1, args.steps)]
        started = {
            peers.label(library, block): peers.start(library, **peer_settings(args.steps, block))
            for library, block in kinds
        }
    contenders = {method: our_rate(method) for method in ("sac", "nppac")}
    contenders |= {name: peer.measure for name, peer in started.items()}
    rates = by_turns(contenders, args.rounds, warm_up=2)
    for peer in started.values():
        peer.stop()
    middle = medians(rates)
    ratios = {name: middle["sac"] / middle[name] for name in started}
    table = Table("one update a step", "steps/s", "SAC beside it")
    for name, rate in middle.items():
        ratio = middle["sac"] / rate
        aim = FASTER.get(name)
        table.add_row(name, f"{rate:.0f}", against(ratio, aim) if aim else f"{ratio:.2f}")
    console().print(table)
    if started:
        about = {name: peer.about for name, peer in started.items()}
        record = {"settings": vars(args), "machine": host, "steps_per_second": rates}
        write_record("loop", {**record, "sac_over_peer": ratios, "versions": about})


if __name__ == "__main__":
    main()
