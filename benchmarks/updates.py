"""Gradient steps per second beside Stable-Baselines3, SBX and the machine's own peak.

    python benchmarks/updates.py

Same networks, same batch, replays of noise; all by turns. The peers make one gradient step a call,
as they do when they learn by default, and once more all of a round in one call. The share of the
peak counts the matrix products of an update (flops.py) and holds them against two measured peaks
(peak.py).
"""

import argparse
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
from rich.table import Table

import peers
from flops import update_flops
from methods import synthetic_replay
from nppac.cli.show import console
from nppac.training.presets import preset
from nppac.training.updates import run_updates
from nppac.types import Family
from peak import layer_peak, layers_of, square_peak
from rounds import against, by_turns, machine, medians, write_record

OURS: dict[str, Family] = {"sac": "uniform", "nppac": "normal"}
FASTER = {"sbx": 1.2, "sb3": 1.8}
"""How many times a peer's rate SAC should have at batch 256."""
SHARE = 0.65
"""Share of the measured peak that an update should reach at batch 1024."""


@dataclass(frozen=True)
class Case:
    """A task's shapes with a batch size; the networks are those of its presets."""

    task: str
    obs_dim: int
    action_dim: int
    batch_size: int


CASES = (Case("halfcheetah", 17, 6, 256), Case("door", 39, 28, 1024))


def our_rate(case: Case, method: str, updates: int) -> Callable[[], float]:
    """A round of fused updates of one of our methods, in gradient steps per second."""
    agent = preset(case.task, method).agent
    replay = synthetic_replay(case.obs_dim, case.action_dim)
    state = agent.init(jax.random.key(0), case.obs_dim, case.action_dim)

    def measure() -> float:
        nonlocal state
        key, family = jax.random.key(1), OURS[method]
        began = time.monotonic()
        state, _ = run_updates(agent, state, replay, key, updates, case.batch_size, family)
        jax.block_until_ready(state)
        return updates / (time.monotonic() - began)

    return measure


def peer_settings(case: Case, updates: int, block: int) -> dict[str, Any]:
    agent = preset(case.task, "sac").agent
    return {
        "what": "updates",
        "count": updates,
        "obs_dim": case.obs_dim,
        "action_dim": case.action_dim,
        "policy_hidden": agent.policy_hidden,
        "critic_hidden": agent.critic_hidden,
        "batch_size": case.batch_size,
        "block": block,
    }


def measure(case: Case, updates: int, rounds: int, with_peers: bool) -> dict[str, Any]:
    """All contenders of one case, and the peak among them."""
    agent = preset(case.task, "sac").agent
    layers = layers_of(case.obs_dim, case.action_dim, agent.policy_hidden, agent.critic_hidden)
    started = {}
    if with_peers:
        kinds = [(library, block) for library in FASTER for block in (1, updates)]
        started = {
            peers.label(library, block): peers.start(library, **peer_settings(case, updates, block))
            for library, block in kinds
        }
    contenders = {name: our_rate(case, name, updates) for name in OURS}
    contenders |= {name: peer.measure for name, peer in started.items()}
    peaks = {"square": square_peak, "layers": layer_peak(layers, case.batch_size)}
    measured = by_turns(contenders | peaks, rounds)
    for peer in started.values():
        peer.stop()
    rates = {name: measured[name] for name in contenders}
    middle = medians(measured)
    flops = update_flops(agent, case.obs_dim, case.action_dim, case.batch_size)
    achieved = {name: middle[name] * flops / 1e9 for name in OURS}
    return {
        "case": vars(case),
        "networks": {"policy": agent.policy_hidden, "critic": agent.critic_hidden},
        "updates_per_second": rates,
        "peak_gflops": {name: measured[name] for name in peaks},
        "gflop_per_update": flops / 1e9,
        "achieved_gflops": achieved,
        "share_of_peak": {
            peak: {name: achieved[name] / middle[peak] for name in OURS} for peak in peaks
        },
        "sac_over_peer": {name: middle["sac"] / middle[name] for name in started},
        "versions": {name: peer.about for name, peer in started.items()},
    }


def show(result: dict[str, Any]) -> None:
    case, middle = result["case"], medians(result["updates_per_second"])
    table = Table(f"{case['task']}, batch {case['batch_size']}", "updates/s", "SAC beside it")
    for name, rate in middle.items():
        ratio = middle["sac"] / rate
        aim = FASTER.get(name) if case["batch_size"] == 256 else None
        table.add_row(name, f"{rate:.0f}", against(ratio, aim) if aim else f"{ratio:.2f}")
    console().print(table)
    for peak, values in medians(result["peak_gflops"]).items():
        shares = result["share_of_peak"][peak]
        print(f"  peak ({peak}): {values:.0f} GFLOP/s")
        for name, share in shares.items():
            aimed = case["batch_size"] == 1024
            words = against(share, SHARE) if aimed else f"{share:.2f}"
            print(f"    {name} reaches {result['achieved_gflops'][name]:.0f}: {words}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--updates", type=int, default=500)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--no-peers", action="store_true", help="only ours and the peak")
    args = parser.parse_args()

    host, results = machine(), []
    for case in CASES:
        # Larger batches, fewer of them: a round of any case takes about as long.
        updates = max(50, args.updates * 256 // case.batch_size)
        results.append(measure(case, updates, args.rounds, not args.no_peers))
        show(results[-1])
    if not args.no_peers:
        write_record("updates", {"settings": vars(args), "machine": host, "cases": results})


if __name__ == "__main__":
    main()
