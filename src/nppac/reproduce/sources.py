"""What the figures are made from: demonstrations by task, and how long to fit."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from nppac.agents.common.paper_settings import PAPER
from nppac.demos import Demos, embedded_names
from nppac.demos.for_task import load_task_demos
from nppac.references import GPConfig
from nppac.references.neural.config import NetworkConfig
from nppac.tasks import get_task
from nppac.utils.errors import UserError

Sources = Mapping[str, str]
"""Demonstrations of each task: a file, a Minari id or an embedded name."""


@dataclass(frozen=True)
class ComputeBudget:
    """How much to compute; a quick look is for tests and for trying a figure out."""

    epochs: int = 200
    seeds: int = 5
    grid: int = 61
    gp_points: int = 1000
    gp_steps: int = 100
    demo_episodes: int | None = None

    @classmethod
    def quick(cls) -> "ComputeBudget":
        """Seconds instead of minutes."""
        return cls(epochs=10, seeds=2, grid=9, gp_points=100, gp_steps=10, demo_episodes=2)

    def gp(self, task: str) -> GPConfig:
        """The paper's kernel for the task."""
        paper = PAPER.get(task, PAPER["halfcheetah"]).gp
        return replace(paper, fit_points=self.gp_points, max_steps=self.gp_steps)

    def network(self, **changes: object) -> NetworkConfig:
        """A Gaussian network without a floor under its variance, as in the paper's maps."""
        settings = {"variance_floor": 0.0, "max_epochs": self.epochs, **changes}
        return NetworkConfig(**settings)


def task_sources(demos: Sources | None) -> dict[str, str]:
    """The given demonstrations, and the embedded ones of other tasks of the paper."""
    embedded = {task: task for task in PAPER if task in embedded_names()}
    return {**embedded, **(demos or {})}


def load_source(sources: Sources, task: str, budget: ComputeBudget) -> Demos:
    """The demonstrations of a task, or a `UserError` that says how to give them."""
    if task not in sources:
        raise UserError(
            f"This figure needs demonstrations of '{task}', and none are embedded: give them."
        )
    demos = load_task_demos(get_task(task), sources[task], budget.demo_episodes)
    assert demos is not None
    return demos
