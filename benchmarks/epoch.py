"""What a reference adds to an epoch of 1,000 steps and updates: the paper's Table 1, and beyond.

    python benchmarks/epoch.py

A constant, a network and Gaussian processes with more and more points train the same agent, epoch
by epoch and by turns. The constant costs nothing to ask. Beside whole epochs, whose rounds differ
by more than most references cost, stands the time that asking about an epoch's states takes by
itself. Peak memory is that of a process which does two such epochs with one reference and nothing
else.
"""

import argparse
import json
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from rich.table import Table

from epochs import endless, epoch_seconds, random_gp, random_network
from nppac.cli.show import console
from nppac.references import ConstantVarianceReference, Reference, UniformReference
from nppac.tasks import (
    action_dim,
    get_task,
    make_env,
    obs_dim,
)
from rounds import against, by_turns, machine, medians, ratios, write_record

POINTS = (1_000, 5_000, 15_000, 50_000, 100_000)
LIMITS = {"gp 15000": 1.05, "gp 100000": 1.10}
"""How many times an epoch with a network one with this reference may take."""


def make_reference(task: str, name: str) -> Reference:
    """`constant`, `network` or `gp POINTS`, with the shapes and the kernel of a task."""
    env = make_env(get_task(task))
    inputs, outputs = obs_dim(env), action_dim(env)
    if name == "constant":
        return ConstantVarianceReference(UniformReference(outputs), 0.01)
    if name == "network":
        return random_network(inputs, outputs)
    kernel = endless(task).gp.kernel
    return random_gp(
        int(name.split()[1]), inputs, outputs, "matern52" if kernel == "auto" else kernel
    )


def peak_megabytes(task: str, name: str) -> float:
    """Largest resident memory of a process that trains with this reference."""
    command = [sys.executable, __file__, "--task", task, "--memory-of", name]
    output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return json.loads(output.splitlines()[-1])["megabytes"]


def train_alone(task: str, name: str) -> None:
    config = endless(task)
    # A tenth of the updates: they take time, but no more memory the longer they run.
    config = replace(config, schedule=replace(config.schedule, updates_per_step=0.1))
    seconds = epoch_seconds(config, make_reference(task, name))
    seconds(), seconds()
    print(json.dumps({"megabytes": peak_kilobytes() / 2**10}))


def peak_kilobytes() -> float:
    """Largest resident memory of this process; on Linux `getrusage` would count its parent's."""
    status = Path("/proc/self/status")
    if status.exists():
        lines = dict(line.split(":", 1) for line in status.read_text().splitlines())
        return float(lines["VmHWM"].split()[0])
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10  # macOS counts bytes


def asking_seconds(task: str, reference: Reference) -> Callable[[], float]:
    """A measurement: the seconds of all that an epoch asks of a reference."""
    states = np.random.default_rng(0).uniform(-1, 1, (1_001, obs_dim(make_env(get_task(task)))))

    def measure() -> float:
        began = time.monotonic()
        reference(states)
        return time.monotonic() - began

    return measure


def measure(task: str, points: list[int], epochs: int) -> dict[str, Any]:
    """Seconds of an epoch and megabytes with each reference."""
    names = ["constant", "network", *(f"gp {n}" for n in points)]
    config = endless(task)
    references = {name: make_reference(task, name) for name in names}
    contenders = {name: epoch_seconds(config, each) for name, each in references.items()}
    seconds = by_turns(contenders, epochs, warm_up=2)
    asking = by_turns({name: asking_seconds(task, each) for name, each in references.items()}, 9)
    return {
        "task": task,
        "seconds": seconds,
        "asking": asking,
        "over_network": ratios(seconds, "network"),
        "over_constant": ratios(seconds, "constant"),
        "peak_megabytes": {name: peak_megabytes(task, name) for name in names},
    }


def show(result: dict[str, Any]) -> None:
    table = Table(
        result["task"], "s per epoch", "of it asking", "beside the network", "peak memory"
    )
    asking = medians(result["asking"])
    for name, median in medians(result["seconds"]).items():
        ratio = result["over_network"][name]
        words = against(ratio, LIMITS[name], at_most=True) if name in LIMITS else f"{ratio:.3f}"
        memory = f"{result['peak_megabytes'][name]:.0f} MB"
        table.add_row(name, f"{median:.2f}", f"{asking[name]:.2f}", words, memory)
    console().print(table)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--task", action="append", help="default: halfcheetah and door")
    parser.add_argument("--points", type=int, nargs="*", default=POINTS)
    parser.add_argument("--epochs", type=int, default=9)
    parser.add_argument("--memory-of", help=argparse.SUPPRESS)
    args = parser.parse_args()
    tasks = args.task or ["halfcheetah", "door"]
    if args.memory_of:
        train_alone(tasks[0], args.memory_of)
        return
    host, results = machine(), []
    for task in tasks:
        results.append(measure(task, list(args.points), args.epochs))
        show(results[-1])
    write_record("epoch", {"settings": vars(args), "machine": host, "tasks": results})


if __name__ == "__main__":
    main()
