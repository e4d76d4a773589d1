"""What uncertainty costs: an ensemble and dropout, each beside one plain network.

Every fit runs the same number of epochs over the same data, by turns in one process, so that ratios
hold whatever else the machine does. A short fit is repeated until it lasts about as long as the
ensemble's: a clock that changes within seconds would otherwise be most of the ratio. The first
round compiles and does not count.
"""

import argparse
import statistics
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from nppac.references.neural.batches import Data
from nppac.references.neural.config import NetworkConfig
from nppac.references.neural.dropout import RATE
from nppac.references.neural.ensemble import WEIGHT_DECAY
from nppac.references.neural.fit import fit_members
from nppac.utils.files import write_json
from nppac.utils.provenance import commit

RECORD = Path(__file__).parents[1] / "results" / "benchmarks" / "references.json"
OBSERVATIONS, ACTIONS = 39, 28  # the door's
LIMITS = {"ensemble": 12.0, "dropout": 1.5}
"""How many times one plain network each may cost."""


def synthetic_data(points: int) -> Data:
    """Standardised states and noisy actions; only their number matters."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal((points, OBSERVATIONS)).astype(np.float32)
    actions = np.tanh(x[:, :ACTIONS] + 0.1 * rng.standard_normal((points, ACTIONS)))
    return Data(x, actions.astype(np.float32), None)


REPEATS = {"network": 12, "dropout": 9, "ensemble": 1}
"""How often a round runs each fit."""


def measure(fits: dict[str, Callable[[], object]], rounds: int) -> dict[str, list[float]]:
    """Seconds of one fit of each kind in every round but the first."""
    seconds: dict[str, list[float]] = {name: [] for name in fits}
    for i in range(rounds + 1):
        for name, fit in fits.items():
            began = time.monotonic()
            for _ in range(REPEATS[name]):
                fit()
            if i:
                seconds[name].append((time.monotonic() - began) / REPEATS[name])
    return seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--points", type=int, default=5000)
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--rounds", type=int, default=5)
    args = parser.parse_args()

    data = synthetic_data(args.points)
    config = NetworkConfig(tikhonov=WEIGHT_DECAY / 2, max_epochs=args.epochs, patience=args.epochs)
    fits: dict[str, Callable[[], object]] = {
        "network": lambda: fit_members(data, config),
        "dropout": lambda: fit_members(data, config, dropout=RATE),
        "ensemble": lambda: fit_members(data, config, members=config.members),
    }
    seconds = measure(fits, args.rounds)
    medians = {name: statistics.median(values) for name, values in seconds.items()}
    ratios = {  # within each round, so that a slow minute slows both
        name: statistics.median(np.divide(values, seconds["network"]).tolist())
        for name, values in seconds.items()
    }
    for name, ratio in ratios.items():
        limit = f" (at most {LIMITS[name]:g})" if name in LIMITS else ""
        print(f"  {name:9} {medians[name]:6.2f} s, {ratio:5.2f} times one network{limit}")
    record = {"settings": vars(args), "seconds": seconds, "ratios": ratios, "commit": commit()}
    write_json(RECORD, record)


if __name__ == "__main__":
    main()
