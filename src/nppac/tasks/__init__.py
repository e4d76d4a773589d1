"""Tasks: an environment, its horizon and its reward, behind one continuous-control interface."""

from nppac.tasks.environment import action_bounds, action_dim, make_env, obs_dim, success_of
from nppac.tasks.registry import TASKS, get_task, register_task
from nppac.tasks.spaces import check_spaces
from nppac.tasks.spec import TaskSpec

__all__ = [
    "TASKS",
    "TaskSpec",
    "action_bounds",
    "action_dim",
    "check_spaces",
    "get_task",
    "make_env",
    "obs_dim",
    "register_task",
    "success_of",
]
