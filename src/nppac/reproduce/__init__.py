"""The paper's figures that need no online training: compute, save, draw from what was saved."""

import dataclasses
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from nppac.references.gp.config import WORK
from nppac.reproduce.collapse import compute_collapse
from nppac.reproduce.drawing import (
    maps_titled,
    picture_of_collapse,
    picture_of_proposition,
    picture_of_trajectories,
)
from nppac.reproduce.maps import (
    COEFFICIENTS,
    compute_ensemble,
    compute_entropy,
    compute_heatmaps,
    compute_tikhonov,
    heatmap_steps,
)
from nppac.reproduce.proposition import compute_proposition
from nppac.reproduce.sources import ComputeBudget, Sources, task_sources
from nppac.reproduce.trajectories import compute_trajectories
from nppac.utils.errors import unknown_name
from nppac.utils.files import write_json
from nppac.utils.progress import Advance, progress_bar
from nppac.utils.provenance import provenance


@dataclass(frozen=True)
class FigureRecipe:
    """How a figure comes about."""

    description: str
    data: str
    """Name of the file that `compute` writes and `draw` reads."""
    compute: Callable[[Path, Sources, ComputeBudget, Advance], tuple[str, ...]]
    draw: Callable[[Path, Path], None]
    steps: Callable[[Sources, ComputeBudget], int]
    """What the progress of `compute` counts to."""


@dataclass(frozen=True)
class Reproduction:
    """What was written, and what a reader should know about it."""

    data: Path
    picture: Path
    record: Path
    """Settings, demonstrations, command and commit."""
    notes: tuple[str, ...] = ()


RECIPES: dict[str, FigureRecipe] = {
    "fig-heatmaps": FigureRecipe(
        "Predictive variance over two principal components: GP beside network, all tasks.",
        "heatmaps.npz",
        compute_heatmaps,
        maps_titled("Predictive variance off the data"),
        heatmap_steps,
    ),
    "fig-collapse": FigureRecipe(
        "Variance off the data during likelihood training of a network, over five seeds.",
        "collapse.npz",
        compute_collapse,
        picture_of_collapse,
        lambda sources, budget: budget.seeds * budget.epochs,
    ),
    "fig-entropy": FigureRecipe(
        "Variance of networks with an entropy bonus of 1e-2, 1e-3 and 1e-4.",
        "entropy.npz",
        compute_entropy,
        maps_titled("Likelihood + entropy bonus"),
        lambda sources, budget: len(COEFFICIENTS) * budget.epochs,
    ),
    "fig-tikhonov": FigureRecipe(
        "Variance of networks with Tikhonov regularisation of 1e-2, 1e-3 and 1e-4.",
        "tikhonov.npz",
        compute_tikhonov,
        maps_titled("Likelihood + Tikhonov regularisation"),
        lambda sources, budget: len(COEFFICIENTS) * budget.epochs,
    ),
    "fig-ensemble": FigureRecipe(
        "Variance of deep ensembles of 1, 2, 4, 6, 8 and 10 networks.",
        "ensemble.npz",
        compute_ensemble,
        maps_titled("Ensembles of K networks"),
        lambda sources, budget: budget.epochs,
    ),
    "fig-trajectories": FigureRecipe(
        "Mean trajectories with predictive variance on an unseen door: GP, network, uniform.",
        "trajectories.npz",
        compute_trajectories,
        picture_of_trajectories,
        lambda sources, budget: WORK + budget.epochs,
    ),
    "prop1": FigureRecipe(
        "Proposition 1: gradient of log π0 against the reference's variance.",
        "prop1.csv",
        compute_proposition,
        picture_of_proposition,
        lambda sources, budget: 0,
    ),
}
FIGURES: dict[str, str] = {name: recipe.description for name, recipe in RECIPES.items()}
"""Every figure by name, with what it shows."""


def reproduce(
    name: str, out_dir: str | Path, demos: Sources | None = None, *, quick: bool = False
) -> Reproduction:
    """Compute a figure's data with progress, save it in `out_dir`, and draw the figure from it.

    `demos` gives each task's demonstrations, by default the embedded ones; `quick` computes little,
    to see whether everything works.
    """
    if name not in RECIPES:
        raise unknown_name("figure", name, RECIPES)
    recipe, out, began = RECIPES[name], Path(out_dir), time.monotonic()
    sources, budget = task_sources(demos), ComputeBudget.quick() if quick else ComputeBudget()
    made = Reproduction(out / recipe.data, out / f"{name}.png", out / f"{name}.json")
    with progress_bar(name, recipe.steps(sources, budget)) as advance:
        notes = recipe.compute(made.data, sources, budget, advance)
    recipe.draw(made.data, made.picture)
    record = {
        "figure": name,
        "demos": sources,
        "budget": dataclasses.asdict(budget),
        "seconds": round(time.monotonic() - began, 1),
        "notes": notes,
        "provenance": provenance(),
    }
    write_json(made.record, record)
    return dataclasses.replace(made, notes=notes)
