"""Tasks by name: those of the paper, the user's own, and every Gymnasium id."""

import difflib
from collections.abc import Mapping

import gymnasium as gym

from nppac.tasks.environment import register_robotics, time_limit
from nppac.tasks.paper import PAPER_TASKS
from nppac.tasks.spec import TaskSpec
from nppac.utils.errors import LONGEST_NAME, UserError
from nppac.utils.imports import import_users

TASKS: dict[str, TaskSpec] = {spec.name: spec for spec in PAPER_TASKS}
"""Every registered task by name; `get_task` also takes any Gymnasium id."""


def register_task(spec: TaskSpec) -> None:
    """Make `spec` known by its name; a name stands for one task only."""
    if TASKS.get(spec.name, spec) != spec:
        raise UserError(
            f"Task '{spec.name}' is registered already, as {TASKS[spec.name].env_id}. "
            "Choose another name."
        )
    TASKS[spec.name] = spec


def get_task(name: str) -> TaskSpec:
    """The registered task `name`, or the Gymnasium environment of that id.

    Either may name the module that registers it first, as in `my_package:MyRobot-v0`.
    """
    spec = registered_task(name)
    if spec is not None:
        return spec
    own_name = name.rpartition(":")[2]
    register_robotics()
    if own_name not in gym.registry:
        raise _unknown_task(name, own_name)
    return TaskSpec(name, env_id=name, horizon=time_limit(name))


def registered_task(name: str) -> TaskSpec | None:
    """The registered task `name`, which may name the module that registers it first."""
    if name in TASKS:
        return TASKS[name]
    module, _, own_name = name.rpartition(":")
    if module:
        import_users(module, f"the task '{name}'")
    return TASKS.get(own_name)


def _unknown_task(name: str, env_id: str) -> UserError:
    """The error for an unknown name, with the nearest task or, failing that, Gymnasium id."""
    name, env_id = name[:LONGEST_NAME], env_id[:LONGEST_NAME]
    near = _nearest(env_id, TASKS) or _nearest(env_id, gym.registry)
    hint = f" Did you mean '{near}'?" if near else ""
    return UserError(
        f"Unknown task '{name}'.{hint} Known: {', '.join(sorted(TASKS))}, and every Gymnasium id "
        "such as 'Hopper-v5' or 'my_package:MyRobot-v0'."
    )


def _nearest(name: str, valid: Mapping[str, object]) -> str | None:
    lowered = {known.lower(): known for known in valid}
    near = difflib.get_close_matches(name.lower(), lowered, n=1, cutoff=0.7)
    return lowered[near[0]] if near else None
