"""What runs have learned: policies, whether they fit a task, and how they do."""

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import gymnasium
import jax
import numpy as np

from nppac.agents.base import Agent, State
from nppac.checkpoint import load_state
from nppac.errors import UserError
from nppac.evaluation import evaluate
from nppac.progress import progress_bar
from nppac.references import CustomReference, Reference, load_reference
from nppac.results import CHECKPOINT_FILE, REFERENCE_FILE
from nppac.run_config import RunConfig, read_config
from nppac.tasks import TaskSpec, action_dim, get_task, make_env, obs_dim
from nppac.types import ReferenceStats
from nppac.updates import Ask, greedy_policy

Policy = Callable[[np.ndarray], np.ndarray]


@dataclass(frozen=True)
class Trained:
    """What a run has learned, as of its last checkpoint."""

    config: RunConfig
    state: State
    ask: Ask
    """The run's reference; only an anchored policy may ask it."""
    checkpoint: Path

    def policy(self, ask: Ask | None = None) -> Policy:
        """Its deterministic policy; `ask` answers for the reference where that is known already."""
        return greedy_policy(self.config.agent, self.state, ask or self.ask)


def load_trained(directory: str | Path) -> Trained:
    """Read a run's last checkpoint."""
    config = read_config(directory)
    checkpoint = Path(directory) / CHECKPOINT_FILE
    if not checkpoint.exists():
        raise UserError(
            f"{directory} has no checkpoint yet. Let `nppac resume {directory}` run for a while."
        )
    env = make_env(get_task(config.task))
    agent: Agent = config.agent
    fresh: State = agent.init(jax.random.key(0), obs_dim(env), action_dim(env))
    ask = saved_reference(config, directory) if agent.anchored else _no_reference
    return Trained(config, load_state(checkpoint, fresh), ask, checkpoint)


def saved_reference(config: RunConfig, directory: str | Path) -> Reference:
    """The run's own reference; a function is imported only if its configuration names it too.

    That trusts `config.json` as far as it is trusted anyway: a task's id may name a module.
    """
    reference = load_reference(Path(directory) / REFERENCE_FILE, trusted=config.reference)
    if isinstance(reference, CustomReference):
        print(f"Imported {reference.name}, which {directory} names.", file=sys.stderr)
    return reference


def load_policy(directory: str | Path) -> tuple[RunConfig, Policy]:
    """A run's configuration and its deterministic policy as of the last checkpoint."""
    trained = load_trained(directory)
    return trained.config, trained.policy()


def _no_reference(obs: np.ndarray) -> ReferenceStats:
    raise AssertionError("a policy that is not anchored asked for its reference")


def evaluate_policy(spec: TaskSpec, act: Policy, episodes: int, seed: int) -> dict[str, Any]:
    """Returns and successes of a deterministic policy, with progress."""
    if episodes < 1:
        raise UserError(f"An evaluation needs at least one episode, not {episodes}.")
    envs = [make_env(spec) for _ in range(min(8, episodes))]
    with progress_bar("Evaluating", episodes) as advance:
        return evaluate(envs, act, episodes=episodes, seed=seed, advance=advance).as_dict()


def check_fits(act: Policy, what: str, spec: TaskSpec, env: gymnasium.Env) -> None:
    """Ask for one action, to see that a policy or a reference's mean is one of this task."""
    try:
        fits = act(np.zeros((1, obs_dim(env)), np.float32)).shape == (1, action_dim(env))
    except (TypeError, UserError):  # a network's refusal, a GP's
        fits = False
    if not fits:
        raise misfit(what, spec, env)


def misfit(what: str, spec: TaskSpec, env: gymnasium.Env) -> UserError:
    """The error for a policy or a reference of other shapes than the task's."""
    return UserError(
        f"{what} does not fit the task {spec.name}, which has {obs_dim(env)} observations and "
        f"{action_dim(env)} actions: it was made for another."
    )
