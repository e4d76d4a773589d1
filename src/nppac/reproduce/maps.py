"""Maps of the predictive variance: GP beside network, and every attempt to mend the network."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from nppac.demos import Demos
from nppac.references import fit_gp
from nppac.references.base import Reference
from nppac.references.gp.config import WORK
from nppac.references.neural.ensemble import fit_ensemble
from nppac.references.neural.network import fit_network
from nppac.reproduce.plane import Plane, variance_map
from nppac.reproduce.sources import ComputeBudget, Sources, load_source
from nppac.tasks import TASKS
from nppac.tasks.paper import PAPER_TASKS
from nppac.utils.files import write_arrays
from nppac.utils.progress import Advance, after, silent

COEFFICIENTS = (1e-2, 1e-3, 1e-4)
ENSEMBLE_SIZES = (1, 2, 4, 6, 8, 10)
MAPPED_TASKS = tuple(
    spec.name for spec in sorted(PAPER_TASKS, key=lambda spec: spec.reward != "success")
)
"""The tasks of the paper, a row of maps each; the hand's come first."""
TASK = "door"
"""The task of every map that shows one task only."""
MOST_POINTS = 2500
"""Demonstrated states that a map shows: all of a long gait's would cover it."""

Panels = Mapping[str, Reference]
"""A title for each map of one row, and its reference."""


def mapped_tasks(sources: Sources) -> list[str]:
    """The paper's tasks that have demonstrations, or the first, whose absence is then named."""
    return [task for task in MAPPED_TASKS if task in sources] or [TASK]


def heatmap_steps(sources: Sources, budget: ComputeBudget) -> int:
    """What the progress of the maps of all tasks counts to."""
    return (WORK + budget.epochs) * len(mapped_tasks(sources))


def compute_heatmaps(
    path: Path, sources: Sources, budget: ComputeBudget, advance: Advance = silent
) -> tuple[str, ...]:
    """GP beside network for each task that has demonstrations; says which have none."""
    arrays: dict[str, np.ndarray] = {}
    rows, done = mapped_tasks(sources), 0
    for i, task in enumerate(rows):
        demos = load_source(sources, task, budget)
        data, settings = (demos.obs, demos.actions), budget.gp(task)
        gp = fit_gp(*data, settings, after(done, advance, f"{task}, GP:"))
        done += WORK
        network = fit_network(*data, budget.network(), after(done, advance, f"{task}, network:"))
        done += budget.epochs
        panels = {"Gaussian process": gp, "network": network}
        arrays |= _row(i, f"{task} ({TASKS[task].env_id})", demos, panels, budget)
    write_arrays(path, {"rows": np.asarray(len(rows)), **arrays}, compress=True)
    missing = [task for task in MAPPED_TASKS if task not in rows]
    return tuple(f"{task}: left out, because it has no demonstrations" for task in missing)


def compute_entropy(
    path: Path, sources: Sources, budget: ComputeBudget, advance: Advance = silent
) -> tuple[str, ...]:
    """Networks with entropy bonuses β."""
    return _one_row(path, sources, budget, "entropy_bonus", "β", advance)


def compute_tikhonov(
    path: Path, sources: Sources, budget: ComputeBudget, advance: Advance = silent
) -> tuple[str, ...]:
    """Networks with Tikhonov regularisation λ."""
    return _one_row(path, sources, budget, "tikhonov", "λ", advance)


def _one_row(
    path: Path, sources: Sources, budget: ComputeBudget, setting: str, symbol: str, advance: Advance
) -> tuple[str, ...]:
    demos = load_source(sources, TASK, budget)

    panels = {
        f"{symbol} = $10^{{{np.log10(value):.0f}}}$": fit_network(
            demos.obs,
            demos.actions,
            budget.network(**{setting: value}),
            after(i * budget.epochs, advance, f"{symbol} = {value:g}:"),
        )
        for i, value in enumerate(COEFFICIENTS)
    }
    arrays = _row(0, TASK, demos, panels, budget)
    write_arrays(path, {"rows": np.asarray(1), **arrays}, compress=True)
    return ()


def compute_ensemble(
    path: Path, sources: Sources, budget: ComputeBudget, advance: Advance = silent
) -> tuple[str, ...]:
    """The first K members of one ensemble, moment-matched."""
    demos = load_source(sources, TASK, budget)
    whole = fit_ensemble(
        demos.obs, demos.actions, budget.network(), members=max(ENSEMBLE_SIZES), advance=advance
    )
    panels = {"one network" if k == 1 else f"K = {k}": whole.members(k) for k in ENSEMBLE_SIZES}
    arrays = _row(0, TASK, demos, panels, budget)
    write_arrays(path, {"rows": np.asarray(1), **arrays}, compress=True)
    return ()


def _row(i: int, title: str, demos: Demos, panels: Panels, budget: ComputeBudget) -> dict:
    """The arrays of one row: a map for each panel over the plane of one task."""
    plane = Plane.of(demos.obs)
    axes = plane.axes(demos.obs, budget.grid)
    maps = np.stack([variance_map(reference, plane, axes) for reference in panels.values()])
    points = demos.obs[:: max(1, len(demos.obs) // MOST_POINTS)]
    return {
        f"{i}_title": np.asarray(title),
        f"{i}_panels": np.asarray(list(panels)),
        f"{i}_variance": maps.astype(np.float32),
        f"{i}_first": axes[0],
        f"{i}_second": axes[1],
        f"{i}_explained": plane.explained,
        f"{i}_demos": plane.project(points).astype(np.float32),
    }
