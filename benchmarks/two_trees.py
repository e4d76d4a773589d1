"""Updates and the loop of two source trees by turns, to see whether the newer is as fast.

    python benchmarks/two_trees.py --before ../older-tree --out results/benchmarks/two_trees.json

Each tree measures itself, in a process of its own, with its own `updates.py` and `loop.py`; the
process waits while it is not its turn.
"""

import argparse
import json
import statistics
import subprocess
from pathlib import Path

from rounds import by_turns, machine, medians

ROOT = Path(__file__).parents[1]
WORKER = """
import sys
sys.path.insert(0, sys.argv[1])
import loop, updates
halfcheetah, door = updates.CASES
measures = {
    "updates, halfcheetah, SAC": updates.our_rate(halfcheetah, "sac", 500),
    "updates, halfcheetah, N-PPAC": updates.our_rate(halfcheetah, "nppac", 500),
    "updates, door, N-PPAC": updates.our_rate(door, "nppac", 125),
    "loop, halfcheetah, SAC": loop.our_rate("sac"),
    "loop, halfcheetah, N-PPAC": loop.our_rate("nppac"),
}
print(*measures, sep=";", flush=True)
for name in sys.stdin:
    print(measures[name.strip()](), flush=True)
"""


class Worker:
    """The measurements of one tree."""

    def __init__(self, tree: Path):
        command = [str(tree / ".venv/bin/python"), "-c", WORKER, str(tree / "benchmarks")]
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True)
        self.names = self._answer().split(";")

    def measure(self, name: str) -> float:
        assert self._process.stdin is not None
        print(name, file=self._process.stdin, flush=True)
        return float(self._answer())

    def stop(self) -> None:
        self._process.communicate()

    def _answer(self) -> str:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise SystemExit("A tree's process ended; its message is above.")
        return line.strip()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--before", type=Path, required=True, help="the older tree, with .venv")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--out", type=Path, help="file for the record")
    found = parser.parse_args()
    trees = {"before": found.before.resolve(), "after": ROOT}
    host = machine()
    workers = {name: Worker(tree) for name, tree in trees.items()}
    contenders = {
        f"{what}: {name}": lambda worker=worker, what=what: worker.measure(what)
        for what in workers["after"].names
        for name, worker in workers.items()
    }
    rates = by_turns(contenders, found.rounds, warm_up=2)
    for worker in workers.values():
        worker.stop()
    record = {
        "commits": {name: commit_of(tree) for name, tree in trees.items()},
        "machine": host,
        "rounds": found.rounds,
        "per_second": rates,
        "medians": medians(rates),
        "after_over_before": {
            what: compare(rates[f"{what}: after"], rates[f"{what}: before"])
            for what in workers["after"].names
        },
    }
    print(json.dumps(record["after_over_before"], indent=2))
    if found.out:
        found.out.write_text(json.dumps(record, indent=2) + "\n")


def compare(after: list[float], before: list[float]) -> dict[str, float]:
    """The ratio of speeds in the same round: its median, its least and its greatest."""
    found = [a / b for a, b in zip(after, before, strict=True)]
    return {"median": statistics.median(found), "least": min(found), "greatest": max(found)}


def commit_of(tree: Path) -> str:
    command = ["git", "-C", str(tree), "rev-parse", "HEAD"]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


if __name__ == "__main__":
    main()
