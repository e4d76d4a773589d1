"""Two runs side by side on a core each, beside one after the other with all cores.

Wants an idle machine with two cores: it says so, and stops, where others are at work.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

MOST_LOAD = 1.0
MOST_RATIO = 0.7


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--task", default="door")
    parser.add_argument("--steps", type=int, default=6_000)
    parser.add_argument("--out", type=Path, help="file for the record")
    found = parser.parse_args()
    load = os.getloadavg()[0]
    if load > MOST_LOAD:
        sys.exit(f"The load is {load:.1f}; measure on an idle machine (at most {MOST_LOAD:g}).")
    cores = len(os.sched_getaffinity(0))
    with tempfile.TemporaryDirectory() as folder:
        os.environ["XDG_CACHE_HOME"] = folder
        ways = {
            "one after the other": ["--workers", "1", "--threads-per-run", str(cores)],
            "side by side": ["--workers", "2", "--threads-per-run", str(cores // 2)],
        }
        for flags in ways.values():  # compiled programs and the fit are kept from the first
            sweep(Path(folder), found.task, 2_000, flags)
        seconds = {name: sweep(Path(folder), found.task, found.steps, ways[name]) for name in ways}
    ratio = seconds["side by side"] / seconds["one after the other"]
    facts = {"task": found.task, "steps": found.steps, "cores": cores, "load_before": load}
    record = {**facts, "seconds": seconds, "ratio": ratio, "at_most": MOST_RATIO}
    print(json.dumps(record, indent=2))
    if found.out:
        found.out.write_text(json.dumps(record, indent=2) + "\n")
    sys.exit(0 if ratio <= MOST_RATIO else 1)


def sweep(folder: Path, task: str, steps: int, flags: list[str]) -> float:
    """Seconds of two runs from nothing, with one shared fit's time in either way."""
    out = folder / "out"
    shutil.rmtree(out, ignore_errors=True)
    settings = [f"steps={steps}", "gp.seed=1", "eval_episodes=5", "eval_every=2000"]
    words = ["--methods", "nppac-anchored", "--tasks", task, "--seeds", "0..1", "--set", *settings]
    command = [sys.executable, "-m", "nppac", "sweep", *words, "--out", str(out), *flags]
    began = time.monotonic()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return time.monotonic() - began


if __name__ == "__main__":
    main()
