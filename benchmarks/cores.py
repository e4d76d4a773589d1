"""Updates of a method on all cores beside one core: how well one run uses the machine.

    python benchmarks/cores.py
    python benchmarks/cores.py --task halfcheetah --method nppac --batch-size 256 --ours

One process is pinned to a core, others have them all; they measure by turns. Without --ours, two
other ways to compute two critics are measured beside ours (critic_ways.py).
"""

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Callable

from nppac.utils.threads import available_cores, pin_to, thread_environment

LEAST_RATIO = 1.6


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--task", default="door")
    parser.add_argument("--method", default="nppac-anchored")
    parser.add_argument("--batch-size", type=int, default=128)
    parser.add_argument("--updates", type=int, default=50)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--ours", action="store_true", help="no other ways")
    parser.add_argument("--anyway", action="store_true", help="also where others are at work")
    parser.add_argument("--contend", nargs=2, metavar=("WAY", "CORES"), help=argparse.SUPPRESS)
    found = parser.parse_args()
    if found.contend is None:
        compare(found)
    else:
        contend(found, *found.contend)


def compare(found: argparse.Namespace) -> None:
    # Here: the contenders import JAX after they are pinned.
    from critic_ways import APART_FLAGS, DEVICE_FLAGS
    from rounds import against, by_turns, machine, medians, ratios, require_idle, write_record

    host, busy, count = machine(), require_idle(found.anyway), len(available_cores())
    one, all_cores = "one core", f"{count} cores"
    contenders = {one: contender("ours", 1), all_cores: contender("ours", count)}
    if not found.ours:
        contenders["critics apart, one core"] = contender("apart", 1, APART_FLAGS)
        contenders["critics apart"] = contender("apart", count, APART_FLAGS)
        contenders["critics on two devices"] = contender("devices", count, DEVICE_FLAGS)
    rates = by_turns(contenders, found.rounds)
    beside = ratios(rates, one)
    for name, rate in medians(rates).items():
        print(f"{name}: {rate:.1f} updates/s, {beside[name]:.2f} times one core")
    print(f"{all_cores} / one core: {against(beside[all_cores], LEAST_RATIO)}")
    facts = {"settings": vars(found), "machine": host, "busy_before": busy}
    record = {**facts, "updates_per_second": rates, "ratios": beside, "at_least": LEAST_RATIO}
    write_record(f"cores-{found.task}-{found.method}", record)


def contender(way: str, cores: int, flags: str = "") -> Callable[[], float]:
    """A process on so many cores that measures a round whenever it is asked."""
    process = subprocess.Popen(
        [sys.executable, *sys.argv, "--contend", way, str(cores)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, **thread_environment(cores), "XLA_FLAGS": flags},
        text=True,
    )

    def measure() -> float:
        assert process.stdin is not None
        assert process.stdout is not None
        print(file=process.stdin, flush=True)
        return float(process.stdout.readline())

    return measure


def contend(found: argparse.Namespace, way: str, cores: str) -> None:
    pin_to(available_cores()[-int(cores) :])
    import jax

    from critic_ways import compute_apart, compute_on_devices
    from methods import rate, synthetic_replay
    from nppac.agents.registry import METHODS
    from nppac.tasks import action_dim, get_task, make_env, obs_dim
    from nppac.training.presets import preset

    env = make_env(get_task(found.task))
    shape = obs_dim(env), action_dim(env)
    agent, replay = preset(found.task, found.method).agent, synthetic_replay(*shape)
    family = "uniform" if METHODS[found.method].reference == "uniform" else "normal"
    state = agent.init(jax.random.key(0), *shape)
    many = None
    if way == "apart":
        compute_apart()
    elif way == "devices":
        many = compute_on_devices(agent, state, replay, found.updates, found.batch_size)
    for _ in sys.stdin:
        began = time.monotonic()
        if many is None:
            fresh = jax.tree.map(lambda leaf: leaf.copy(), state)  # an update takes its buffers
            print(rate(agent, fresh, replay, found.updates, found.batch_size, family), flush=True)
        else:
            jax.block_until_ready(many())
            print(found.updates / (time.monotonic() - began), flush=True)


if __name__ == "__main__":
    main()
