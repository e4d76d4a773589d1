"""Environments behind one continuous-control interface.

Whatever the environment was, `make_env` hands out float32 vectors for observations and actions in
[-1, 1], so that nothing downstream asks what the task is.
"""

import importlib
import sys
from collections.abc import Mapping
from functools import cache

import gymnasium as gym
import numpy as np
from gymnasium import spaces

from nppac.tasks.simulator import (
    choose_headless_renderer,
    drop_dense_reward_notice,
    import_mujoco,
    message_of,
    quiet_mujoco,
)
from nppac.tasks.spaces import check_spaces
from nppac.tasks.spec import TaskSpec
from nppac.utils.errors import UserError
from nppac.utils.imports import (
    FailedEnvironment,
    import_users,
    own_traceback,
    working_directory_importable,
)

DEFAULT_HORIZON = 1000
"""Time limit of an environment that has none of its own, nor a task that gives it one."""


def make_env(spec: TaskSpec, render_mode: str | None = None) -> gym.Env:
    """The task's environment: float32 observations, actions in [-1, 1], the task's reward."""
    if render_mode is not None:
        choose_headless_renderer()
    register_robotics()
    env = _make_bare_env(spec, render_mode)
    try:
        check_spaces(spec.name, env.observation_space, env.action_space)
    except UserError:
        env.close()
        raise
    return _TaskEnv(_rescaled(_flattened(env)), spec)


def obs_dim(env: gym.Env) -> int:
    """Length of an environment's observation vector."""
    return int(np.prod(env.observation_space.shape or ()))


def action_dim(env: gym.Env) -> int:
    """Length of an environment's action vector."""
    return int(np.prod(env.action_space.shape or ()))


def action_bounds(env: gym.Env) -> tuple[np.ndarray, np.ndarray]:
    """Least and largest actions (d) of the environment itself, which a task has in [-1, 1]."""
    inner = getattr(env, "env", env)
    space = (inner.env if isinstance(inner, gym.wrappers.RescaleAction) else env).action_space
    assert isinstance(space, spaces.Box)
    return space.low.astype(np.float32), space.high.astype(np.float32)


def success_of(info: Mapping[str, object]) -> bool | None:
    """Whether a step's `info` reports success; None where it says nothing of it."""
    value = info.get("success")
    if value is None:
        value = info.get("is_success")
    return None if value is None else bool(value)


class _TaskEnv(gym.Wrapper):
    """Float32 observations and the task's reward, in one layer to keep a step cheap."""

    def __init__(self, env: gym.Env, spec: TaskSpec):
        super().__init__(env)
        self.task = spec
        space = env.observation_space
        assert isinstance(space, spaces.Box)
        with np.errstate(over="ignore"):  # bounds beyond float32 become infinite, as they should
            low, high = space.low.astype(np.float32), space.high.astype(np.float32)
        self.observation_space = spaces.Box(low, high, dtype=np.float32)
        self._reward_is_success = spec.reward == "success"
        beyond = [i for i in spec.angles if not 0 <= i < len(low)]
        if beyond:
            raise UserError(
                f"The task has angle {beyond[0]}, but '{spec.name}' has {len(low)} observations; "
                "they are counted from 0."
            )

    def reset(self, *, seed: int | None = None, options: dict[str, object] | None = None):
        obs, info = self.env.reset(seed=seed, options=options)
        return self._seen(obs), info

    def step(self, action: object):
        obs, reward, terminated, truncated, info = self.env.step(action)
        if self._reward_is_success:
            reward = self._success_reward(info)
        return self._seen(obs), float(reward), terminated, truncated, info

    def _seen(self, obs: object) -> np.ndarray:
        return self.task.wrapped(_as_float32(obs))

    def _success_reward(self, info: Mapping[str, object]) -> float:
        success = success_of(info)
        if success is None:
            raise UserError(
                f"Task '{self.task.name}' is rewarded by success, but {self.task.env_id} reports "
                "neither info['success'] nor info['is_success']. Use reward='environment'."
            )
        return float(success)


def _as_float32(obs: object) -> np.ndarray:
    """An observation as float32, unless it is too large for that: `rollout` then says so."""
    with np.errstate(over="ignore"):
        found = np.asarray(obs, np.float32)
    return found if np.isfinite(found).all() else np.asarray(obs)


def _flattened(env: gym.Env) -> gym.Env:
    """Observations as one vector; a Dict's boxes follow one another by sorted key."""
    space = env.observation_space
    plain = isinstance(space, spaces.Box) and len(space.shape) == 1
    return env if plain else gym.wrappers.FlattenObservation(env)


def _rescaled(env: gym.Env) -> gym.Env:
    """Actions in [-1, 1]; an environment that has them already is spared the layer."""
    space = env.action_space
    assert isinstance(space, spaces.Box)
    if np.all(space.low == -1) and np.all(space.high == 1):
        return env
    one = np.ones(space.shape, space.dtype)
    return gym.wrappers.RescaleAction(env, -one, one)


def _make_bare_env(spec: TaskSpec, render_mode: str | None) -> gym.Env:
    # An environment that cannot be rendered need not take the argument.
    rendering = {} if render_mode is None else {"render_mode": render_mode}
    module = spec.env_id.rpartition(":")[0]
    if module:
        import_users(module, f"the task '{spec.name}'")
    try:
        with quiet_mujoco(), working_directory_importable():  # where its own modules may lie
            return gym.make(
                spec.env_id,
                max_episode_steps=spec.horizon or time_limit(spec.env_id),
                disable_env_checker=True,  # it costs on every step; `check_spaces` does its work
                **rendering,
                **spec.env_kwargs,
            )
    except (ImportError, gym.error.Error) as error:
        raise UserError(
            f"Task '{spec.name}' needs the environment {spec.env_id}, which cannot be made here: "
            f"{message_of(error)}. Install what it asks for, or choose a newer version of it."
        ) from error
    except UserError:
        raise
    except (Exception, SystemExit) as error:
        raise FailedEnvironment(
            f"{own_traceback(error)}The environment {spec.env_id} failed when it was made, as "
            "shown above."
        ) from error


def time_limit(env_id: str) -> int | None:
    """An environment's own time limit, or one that keeps endless episodes from lasting for ever."""
    registered = gym.registry.get(env_id.rpartition(":")[2])
    if registered is None or registered.max_episode_steps is not None:
        return registered and registered.max_episode_steps
    _tell_of_limit(env_id)
    return DEFAULT_HORIZON


@cache  # once is enough
def _tell_of_limit(env_id: str) -> None:
    print(
        f"{env_id} has no time limit: its episodes are cut after {DEFAULT_HORIZON:,} steps. "
        "Register a task with a horizon to choose another.",
        file=sys.stderr,
    )


def register_robotics() -> None:
    """Register Gymnasium-Robotics, without its notice on rewards of `*Dense-v1` environments."""
    import_mujoco()
    if "gymnasium_robotics" not in sys.modules:
        drop_dense_reward_notice()
    gym.register_envs(importlib.import_module("gymnasium_robotics"))
