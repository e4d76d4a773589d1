"""Updates of a method on all cores beside one core: how well one run uses the machine.

    python benchmarks/cores.py
    python benchmarks/cores.py --task halfcheetah --method nppac --batch-size 256

One process is pinned to a core, another has them all; they measure by turns.
"""

import argparse
import os
import subprocess
import sys
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
    parser.add_argument("--anyway", action="store_true", help="also where others are at work")
    parser.add_argument("--contend", type=int, help=argparse.SUPPRESS)
    found = parser.parse_args()
    if found.contend is None:
        compare(found)
    else:
        contend(found)


def compare(found: argparse.Namespace) -> None:
    # Here: the contenders import JAX after they are pinned.
    from rounds import against, by_turns, machine, medians, ratios, require_idle, write_record

    host, busy, count = machine(), require_idle(found.anyway), len(available_cores())
    contenders = {f"{n} core{'s' if n > 1 else ''}": contender(n) for n in (1, count)}
    rates = by_turns(contenders, found.rounds)
    one, all_cores = contenders
    ratio = ratios(rates, one)[all_cores]
    for name, rate in medians(rates).items():
        print(f"{name}: {rate:.1f} updates/s")
    print(f"{all_cores} / {one}: {against(ratio, LEAST_RATIO)}")
    facts = {"settings": vars(found), "machine": host, "busy_before": busy}
    record = {**facts, "updates_per_second": rates, "ratio": ratio, "at_least": LEAST_RATIO}
    write_record(f"cores-{found.task}-{found.method}", record)


def contender(cores: int) -> Callable[[], float]:
    """A process on so many cores that measures a round whenever it is asked."""
    process = subprocess.Popen(
        [sys.executable, *sys.argv, "--contend", str(cores)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, **thread_environment(cores)},
        text=True,
    )

    def measure() -> float:
        assert process.stdin is not None
        assert process.stdout is not None
        print(file=process.stdin, flush=True)
        return float(process.stdout.readline())

    return measure


def contend(found: argparse.Namespace) -> None:
    pin_to(available_cores()[-found.contend :])
    import jax

    from methods import rate, synthetic_replay
    from nppac.agents.registry import METHODS
    from nppac.tasks import action_dim, get_task, make_env, obs_dim
    from nppac.training.presets import preset

    env = make_env(get_task(found.task))
    shape = obs_dim(env), action_dim(env)
    agent, replay = preset(found.task, found.method).agent, synthetic_replay(*shape)
    family = "uniform" if METHODS[found.method].reference == "uniform" else "normal"
    for _ in sys.stdin:
        state = agent.init(jax.random.key(0), *shape)
        print(rate(agent, state, replay, found.updates, found.batch_size, family), flush=True)


if __name__ == "__main__":
    main()
