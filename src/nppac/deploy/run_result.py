"""A run as a program sees it: its policy, its metrics, its reference."""

from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import numpy as np

from nppac.deploy.acting import policy_for
from nppac.deploy.policy import EnvironmentPolicy
from nppac.evaluation.evaluate import EvaluationRecord, evaluate_policy
from nppac.evaluation.metrics import METRICS_FILE, load_metrics
from nppac.references import Reference, load_reference
from nppac.tasks import get_task
from nppac.training.config import RunConfig, read_config
from nppac.training.directory import REFERENCE_FILE
from nppac.training.restore import load_trained_run

EVALUATION_SEED = 1_000_003  # far from the seeds that people train with


@dataclass(frozen=True)
class RunResult:
    """A run: its policy, its metrics, and the directory that holds both."""

    directory: Path
    config: RunConfig
    summary: dict[str, object] = field(default_factory=dict, repr=False)
    """What the run came to, where it has just ended."""
    at_hand: Reference | None = field(default=None, repr=False)
    """The reference that the run was given; otherwise it is read from the directory."""

    @cached_property
    def policy(self) -> EnvironmentPolicy:
        """The deterministic policy as of the last checkpoint, in the environment's units."""
        trained = load_trained_run(self.directory, reference=self.at_hand)
        return policy_for(self.config.task, trained.policy(), str(self.directory))

    @property
    def metrics(self) -> dict[str, np.ndarray]:
        """Every column of metrics.csv by its name; NaN where nothing was measured."""
        return load_metrics(self.directory / METRICS_FILE)

    @property
    def reference(self) -> Reference:
        """The reference that the run was trained against."""
        file, trusted = self.directory / REFERENCE_FILE, self.config.reference
        return load_reference(file, trusted=trusted) if self.at_hand is None else self.at_hand

    def evaluate(self, episodes: int = 100, seed: int = EVALUATION_SEED) -> EvaluationRecord:
        """Returns and successes of the policy over so many episodes, with progress."""
        return evaluate_policy(get_task(self.config.task), self.policy.act, episodes, seed)


def load_run(directory: str | Path, *, trust: bool = False) -> RunResult:
    """A run that was trained before; code that it names needs `trust` unless it was made here."""
    return RunResult(Path(directory), read_config(directory, trust=trust))
