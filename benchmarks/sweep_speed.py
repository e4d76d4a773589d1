"""Two runs side by side on a core each, beside one after the other with all cores.

    python benchmarks/sweep_speed.py

Wants an idle machine with two cores or more. What is compiled and fitted is made before the clock
starts, so that both ways find it.
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

from rounds import against, machine, require_idle, write_record

MOST_RATIO = 0.7


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--task", default="door")
    parser.add_argument("--method", default="nppac-anchored")
    parser.add_argument("--steps", type=int, default=3_000)
    parser.add_argument("--anyway", action="store_true", help="also where others are at work")
    found = parser.parse_args()
    host, busy = machine(), require_idle(found.anyway)
    cores = len(os.sched_getaffinity(0))
    with tempfile.TemporaryDirectory() as folder:
        os.environ["XDG_CACHE_HOME"] = folder
        what = Path(folder), found.task, found.method
        ways = {
            "one after the other": ["--workers", "1", "--threads-per-run", str(cores)],
            "side by side": ["--workers", "2", "--threads-per-run", str(cores // 2)],
        }
        for flags in ways.values():
            sweep(*what, 2_000, flags)
        seconds = {name: sweep(*what, found.steps, flags) for name, flags in ways.items()}
    ratio = seconds["side by side"] / seconds["one after the other"]
    facts = {"settings": vars(found), "machine": host, "busy_before": busy}
    record = {**facts, "seconds": seconds, "ratio": ratio, "at_most": MOST_RATIO}
    print(json.dumps(record, indent=2))
    print(f"side by side / one after the other: {against(ratio, MOST_RATIO, at_most=True)}")
    write_record(f"sweep_speed-{found.method}", record)
    sys.exit(0 if ratio <= MOST_RATIO else 1)


def sweep(folder: Path, task: str, method: str, steps: int, flags: list[str]) -> float:
    """Seconds of two runs from nothing but what the cache holds."""
    out = folder / "out"
    shutil.rmtree(out, ignore_errors=True)
    settings = [f"steps={steps}", "gp.seed=1", "eval_episodes=5", "challenges=0"]
    words = ["--methods", method, "--tasks", task, "--seeds", "0..1", "--set", *settings]
    command = [sys.executable, "-m", "nppac", "sweep", *words, "--out", str(out), *flags]
    began = time.monotonic()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return time.monotonic() - began


if __name__ == "__main__":
    main()
