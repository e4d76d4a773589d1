"""The policies of runs: how they are read, and whether they fit a task."""

import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from nppac.agents.base import Agent, State
from nppac.references import CustomReference, Reference, load_reference
from nppac.tasks import (
    action_dim,
    get_task,
    make_env,
    obs_dim,
)
from nppac.tasks.rollout import Act
from nppac.training.checkpoint import (
    load_incumbent,
    load_state,
    newest_readable,
)
from nppac.training.config import RunConfig, read_config
from nppac.training.directory import REFERENCE_FILE
from nppac.training.incumbent import Incumbent
from nppac.training.lost import takes_lost_ratio, with_lost_scale
from nppac.training.memory import state_shapes
from nppac.training.updates import ReferenceQuery
from nppac.types import ReferenceStats
from nppac.utils.errors import UserError


@dataclass(frozen=True)
class TrainedRun:
    """What a run has learned, as of its last checkpoint."""

    config: RunConfig
    agent: Agent
    """That of the configuration, which knows by its reference where it is lost."""
    chosen: Incumbent
    """The incumbent; the newest policy in a run without tests."""
    query: ReferenceQuery
    """The run's reference; only an anchored policy or the reference's own mean may query it."""
    checkpoint: Path

    def policy(self, query: ReferenceQuery | None = None) -> Act:
        """Its deterministic policy; `query` stands in for the reference where it is known."""
        return self.chosen.policy(self.agent, query or self.query)

    @property
    def which(self) -> str:
        """Which of the run's policies it is, in words."""
        if self.chosen.state is None:
            return "the reference's mean"
        tested = self.chosen.challenges > 0
        return f"the policy of step {self.chosen.env_steps:,}" if tested else "the newest policy"


def load_trained_run(
    directory: str | Path,
    *,
    trust: bool = False,
    latest: bool = False,
    reference: Reference | None = None,
) -> TrainedRun:
    """Read a run's last checkpoint; a `reference` that is at hand is not read.

    The policy is the incumbent, or with `latest` the newest one.

    A task or a reference of the user's own is imported only if the run was made here, or with
    `trust`: a directory must not decide what code runs.
    """
    config = read_config(directory, trust=trust)
    env = make_env(get_task(config.task))
    agent: Agent = config.agent
    shapes = state_shapes(agent, obs_dim(env), action_dim(env))
    found = newest_readable(Path(directory), lambda path: _chosen(path, shapes, latest))
    if found is None:
        raise UserError(
            f"{directory} has no checkpoint yet. Let `nppac resume {directory}` run for a while."
        )
    query: ReferenceQuery = _no_reference
    path, chosen = found
    if agent.anchored or chosen.state is None or takes_lost_ratio(agent):
        reference = reference or saved_reference(config, directory)
        agent, query = with_lost_scale(agent, reference), reference
    return TrainedRun(config, agent, chosen, query, path)


def _chosen(path: Path, shapes: State, latest: bool) -> Incumbent:
    """The policy that a run hands out."""
    incumbent = None if latest else load_incumbent(path, shapes)
    return Incumbent(load_state(path, shapes)) if incumbent is None else incumbent


def saved_reference(config: RunConfig, directory: str | Path) -> Reference:
    """The run's own reference; a function is imported only if its configuration names it too.

    Whoever calls this has made sure that the configuration is trusted (`require_trust`).
    """
    path = Path(directory) / REFERENCE_FILE
    reference = load_reference(path, trusted=config.reference)
    if isinstance(reference, CustomReference):
        print(f"Imported {reference.name}, which {directory} names.", file=sys.stderr)
    return reference


def load_run_policy(
    directory: str | Path, *, trust: bool = False, latest: bool = False
) -> tuple[RunConfig, Act]:
    """A run's configuration and its deterministic policy as of the last checkpoint."""
    trained = load_trained_run(directory, trust=trust, latest=latest)
    return trained.config, trained.policy()


def _no_reference(obs: np.ndarray) -> ReferenceStats:
    raise AssertionError("a policy that is not anchored asked for its reference")
