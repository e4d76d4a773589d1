"""Checks that a policy or a reference fits a task, by the shapes of its inputs and outputs."""

from collections.abc import Callable

import gymnasium
import numpy as np

from nppac.tasks.environment import action_dim, obs_dim
from nppac.tasks.spec import TaskSpec
from nppac.utils.errors import UserError


def check_policy_shapes(
    act: Callable[[np.ndarray], np.ndarray], what: str, spec: TaskSpec, env: gymnasium.Env
) -> None:
    """Ask for one action, to see that a policy or a reference's mean is one of this task."""
    try:
        fits = act(np.zeros((1, obs_dim(env)), np.float32)).shape == (1, action_dim(env))
    except (TypeError, UserError):  # a network's refusal, a GP's
        fits = False
    if not fits:
        raise shape_mismatch(what, spec, env)


def shape_mismatch(what: str, spec: TaskSpec, env: gymnasium.Env) -> UserError:
    """The error for a policy or a reference of other shapes than the task's."""
    return UserError(
        f"{what} does not fit the task {spec.name}, which has {obs_dim(env)} observations and "
        f"{action_dim(env)} actions: it was made for another."
    )
