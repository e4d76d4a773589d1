"""What the speed benchmarks share: rounds by turns, medians and the record."""

import os
import platform
import statistics
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import jax

from nppac.utils.files import write_json
from nppac.utils.provenance import commit

RECORDS = Path(__file__).parents[1] / "results" / "benchmarks"


def by_turns(
    contenders: Mapping[str, Callable[[], float]], rounds: int, warm_up: int = 1
) -> dict[str, list[float]]:
    """What each contender measures in every round; the machine's moods touch all of them alike.

    The first rounds compile and fill caches, and do not count.
    """
    measured: dict[str, list[float]] = {name: [] for name in contenders}
    for i in range(warm_up + rounds):
        for name, measure in contenders.items():
            value = measure()
            if i >= warm_up:
                measured[name].append(value)
    return measured


def medians(measured: Mapping[str, list[float]]) -> dict[str, float]:
    """The median of each contender's rounds."""
    return {name: statistics.median(values) for name, values in measured.items()}


def ratios(measured: Mapping[str, list[float]], base: str) -> dict[str, float]:
    """The median over rounds of each contender's value beside that of `base` in the same round."""
    return {
        name: statistics.median(a / b for a, b in zip(values, measured[base], strict=True))
        for name, values in measured.items()
    }


def machine() -> dict[str, Any]:
    """What the numbers were measured on, and how busy it was with something else."""
    return {
        "cores": os.cpu_count(),
        "processor": _processor(),
        "load_before": round(os.getloadavg()[0], 2),
        "niceness": os.nice(0),
        "python": platform.python_version(),
        "jax": jax.__version__,
    }


def busy_share(seconds: float = 2.0) -> float:
    """The share of the machine's time that others take; the load is an average of minutes."""

    def ticks() -> tuple[int, int]:
        times = list(map(int, Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]))
        return times[3] + times[4], sum(times)

    idle, whole = ticks()
    time.sleep(seconds)
    after = ticks()
    return 1.0 - (after[0] - idle) / max(after[1] - whole, 1)


def require_idle(anyway: bool = False, most: float = 0.2) -> float:
    """Stop where others are at work; the share of the machine that they have."""
    share = busy_share()
    if share > most and not anyway:
        sys.exit(
            f"Others take {share:.0%} of the machine, and {most:.0%} are too many to measure. Wait "
            "for them; or add --anyway, with a high priority (nice -n -20)."
        )
    return round(share, 3)


def _processor() -> str:
    info = Path("/proc/cpuinfo")
    if not info.exists():
        return platform.processor() or platform.machine()
    names = [line for line in info.read_text().splitlines() if line.startswith("model name")]
    return names[0].partition(":")[2].strip() if names else platform.machine()


def write_record(name: str, record: Mapping[str, Any]) -> None:
    """Write `results/benchmarks/NAME.json`, with the commit that was measured."""
    write_json(RECORDS / f"{name}.json", {**record, "commit": commit()})


def against(ratio: float, target: float, at_most: bool = False) -> str:
    """A ratio beside what was aimed at."""
    met = ratio <= target if at_most else ratio >= target
    words = "at most" if at_most else "at least"
    return f"{ratio:.3g} ({words} {target:g}: {'met' if met else 'MISSED'})"
