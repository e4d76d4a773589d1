"""The collapse in the making: variance on and off the data during likelihood training."""

from pathlib import Path

import numpy as np

from nppac.diagnostics.probes import DistanceMetric, displaced, random_directions
from nppac.references.neural.network import fit_network
from nppac.reproduce.maps import TASK
from nppac.reproduce.sources import ComputeBudget, Sources, load_source
from nppac.utils.files import write_arrays
from nppac.utils.progress import Advance, after, silent

DISTANCE = 2.0
"""How far off the data the variance is watched, in standard deviations per dimension."""
PROBES = 256


def compute_collapse(
    path: Path, sources: Sources, budget: ComputeBudget, advance: Advance = silent
) -> tuple[str, ...]:
    """Mean predictive variance at states off the data after each epoch, for every seed.

    Early stopping is off, so that all seeds have curves of one length; the epoch at which it would
    have stopped is kept beside them.
    """
    demos = load_source(sources, TASK, budget)
    probe = off_data_states(demos.obs)
    curves, best = [], []
    for seed in range(budget.seeds):
        config = budget.network(seed=seed, patience=budget.epochs)
        part = after(seed * budget.epochs, advance, f"seed {seed}:")
        report = fit_network(demos.obs, demos.actions, config, part, probe).report
        curves.append(report["probe_variance"])
        best.append(report["best_epoch"])
    write_arrays(
        path,
        {
            "epoch": np.arange(1, budget.epochs + 1),
            "variance": np.array(curves),
            "best_epoch": np.array(best),
            "distance": np.asarray(DISTANCE),
            "task": np.asarray(TASK),
        },
    )
    return ()


def off_data_states(obs: np.ndarray) -> np.ndarray:
    """Demonstrated states displaced by `DISTANCE` in random directions."""
    rng, metric = np.random.default_rng(0), DistanceMetric.of(obs)
    base = obs[rng.choice(len(obs), min(PROBES, len(obs)), replace=False)]
    directions = random_directions(metric, len(base), rng)
    return displaced(metric, base, directions, (DISTANCE,))[0]
