"""Anything that can act, and the task to act in."""

import shlex
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np

from nppac.deploy import numpy_policy
from nppac.deploy.policy import EnvironmentPolicy, in_unit_box
from nppac.references import Reference, load_reference
from nppac.tasks import action_bounds, get_task, make_env, obs_dim
from nppac.tasks.rollout import Act
from nppac.tasks.shapes import check_policy_shapes
from nppac.training.restore import load_run_policy, load_trained_run
from nppac.utils.errors import UserError, nearest_path


class Acting(NamedTuple):
    """Something that acts."""

    act: Act
    task: str
    """The task to act in."""
    which: str
    """What it is, in words."""


def policy_for(task: str, act: Act, source: str = "") -> EnvironmentPolicy:
    """A policy of [-1, 1] in the units of the task's environment."""
    env = make_env(get_task(task))
    low, high = action_bounds(env)
    size = obs_dim(env)
    env.close()
    return EnvironmentPolicy(act, low, high, size, task, source)


def run_policy(directory: str | Path, *, trust: bool = False) -> EnvironmentPolicy:
    """The deterministic policy of a run, as of its last checkpoint."""
    config, act = load_run_policy(directory, trust=trust)
    return policy_for(config.task, act, str(directory))


def acting_policy(
    path: Path, task: str | None, *, trust: bool = False, latest: bool = False
) -> Acting:
    """A run's policy, a distilled one or a reference's mean, and the task to act in."""
    if not path.exists():
        raise UserError(f"There is no run directory or policy file {path}.{nearest_path(path)}")
    act: Act
    if path.is_dir():
        trained = load_trained_run(path, trust=trust, latest=latest)
        act, which = trained.policy(), trained.which
        task = task or trained.config.task
    elif numpy_policy.kind_of(path) == numpy_policy.KIND:
        act, which = numpy_policy.load_numpy_policy(path), "a distilled policy"
        task = task or (act.task if trust else task_from_file(path, act.task))
    elif task is None:
        raise UserError(f"{path} is not a run's directory; to act with a reference, give --task.")
    else:
        act, which = load_reference(path).mean, "the reference's mean"
    return Acting(checked_act(act, task, str(path)), task, which)


def act_of(
    policy: EnvironmentPolicy | Reference | Callable[[np.ndarray], np.ndarray], task: str
) -> Act:
    """What a policy does, in [-1, 1]; a function's actions are in the environment's units."""
    if isinstance(policy, EnvironmentPolicy):
        return checked_act(policy.act, task, repr(policy))
    if isinstance(policy, Reference):
        return checked_act(policy.mean, task, "The reference")
    env = make_env(get_task(task))
    low, high = action_bounds(env)
    env.close()

    def act(obs: np.ndarray) -> np.ndarray:
        return in_unit_box(np.asarray(policy(obs), np.float32), low, high)

    return checked_act(act, task, "The policy")


def checked_act(act: Act, task: str, what: str) -> Act:
    """The same, once it is known to fit the task."""
    env = make_env(get_task(task))
    check_policy_shapes(act, what, get_task(task), env)
    env.close()
    return act


def task_from_file(path: Path, task: str) -> str:
    """The task that a policy's file names; one that would import a module is the user's to name."""
    module = task.rpartition(":")[0]
    if module:
        raise UserError(
            f"{path} names the task {task[:100]!r}, for which the module {module[:100]!r} would be "
            "imported: a file must not decide what code runs. If you trust that module, add "
            f"--task {shlex.quote(task) if len(task) <= 100 and task.isprintable() else 'TASK'}."
        )
    return task
