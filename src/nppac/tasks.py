"""Tasks: an environment, its horizon and its reward, behind one continuous-control interface.

Whatever the environment was, `make_env` hands out float32 vectors for observations and actions in
[-1, 1], so that nothing downstream asks what the task is.
"""

import ctypes.util
import difflib
import importlib
import os
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Literal

import gymnasium as gym
import numpy as np
from gymnasium import spaces

from nppac.errors import UserError
from nppac.modules import import_users, working_directory_importable

DEFAULT_HORIZON = 1000
"""Time limit of an environment that has none of its own, nor a task that gives it one."""


@dataclass(frozen=True)
class TaskSpec:
    """What a task is: which environment, for how long, and for which reward."""

    name: str
    env_id: str
    env_kwargs: Mapping[str, Any] = field(default_factory=dict)
    horizon: int | None = None
    """Time limit in steps, a truncation; None keeps the environment's own, or 1000."""
    reward: Literal["environment", "success"] = "environment"
    """The environment's own reward, or 1 at every step that reports success and 0 elsewhere."""
    demo_steps: int | None = None
    """Keep only so many steps of each demonstration; None keeps them whole."""
    description: str = ""
    success_in: Callable[[np.ndarray], np.ndarray] | None = None
    """Whether an observation is one of success: rows (n, o) to flags (n,); None where unknown."""


def door_is_open(obs: np.ndarray) -> np.ndarray:
    """Whether the door's hinge has turned by 1.35 rad."""
    return obs[:, 28] >= 1.35


def pen_is_turned(obs: np.ndarray) -> np.ndarray:
    """Whether the pen is in its place, to 0.075 m, and points as it should, to a cosine of 0.95."""
    pen, wanted, offset = obs[:, 33:36], obs[:, 36:39], obs[:, 39:42]
    cosine = np.sum(pen * wanted, axis=1)
    return (np.linalg.norm(offset, axis=1) < 0.075) & (cosine > 0.95)


PAPER_TASKS = (
    TaskSpec(
        "halfcheetah",
        "HalfCheetah-v5",
        horizon=1000,
        description="Run forward on two legs in the plane (17 observations, 6 actions).",
    ),
    TaskSpec(
        "walker2d",
        "Walker2d-v5",
        horizon=1000,
        description="Walk forward in the plane without falling (17 observations, 6 actions).",
    ),
    TaskSpec(
        "ant",
        "Ant-v5",
        # The paper's 27 dimensions: expert data for this task holds no contact forces.
        env_kwargs={"include_cfrc_ext_in_observation": False},
        horizon=1000,
        description="Walk forward on four legs (27 observations, 8 actions).",
    ),
    TaskSpec(
        "door",
        "AdroitHandDoorSparse-v1",
        horizon=200,
        reward="success",
        demo_steps=200,
        description="Open a latched door with a 24-joint hand (39 observations, 28 actions).",
        success_in=door_is_open,
    ),
    TaskSpec(
        "pen",
        "AdroitHandPenSparse-v1",
        horizon=100,
        reward="success",
        description="Turn a pen in the hand to a given direction (45 observations, 24 actions).",
        success_in=pen_is_turned,
    ),
)

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
    if name in TASKS:
        return TASKS[name]
    module, _, own_name = name.rpartition(":")
    if module:
        import_users(module, f"the task '{name}'")
    if own_name in TASKS:
        return TASKS[own_name]
    _register_robotics()
    if own_name not in gym.registry:
        raise _unknown_task(name, own_name)
    return TaskSpec(name, env_id=name, horizon=_time_limit(name))


def _time_limit(env_id: str) -> int | None:
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


def make_env(spec: TaskSpec, render_mode: str | None = None) -> gym.Env:
    """The task's environment: float32 observations, actions in [-1, 1], the task's reward."""
    if render_mode is not None:
        _choose_headless_renderer()
    _register_robotics()
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


def success_of(info: Mapping[str, Any]) -> bool | None:
    """Whether a step's `info` reports success; None where it says nothing of it."""
    value = info.get("success")
    if value is None:
        value = info.get("is_success")
    return None if value is None else bool(value)


def check_spaces(name: str, observation: spaces.Space, action: spaces.Space) -> None:
    """Refuse spaces that are no bounded continuous actions or no vectors of observations."""
    if not _is_bounded_vector(action):
        raise UserError(
            f"Task '{name}' has the action space {action}: expected a one-dimensional Box of "
            "floats with finite bounds, low < high."
        )
    _check_observation(name, "", observation)


def _is_bounded_vector(space: spaces.Space) -> bool:
    if not (isinstance(space, spaces.Box) and len(space.shape) == 1):
        return False
    real = np.issubdtype(space.dtype, np.floating)
    return bool(real and space.is_bounded() and np.all(space.low < space.high))


def _check_observation(name: str, key: str, space: spaces.Space) -> None:
    """Refuse anything but boxes of numbers, and dictionaries of them."""
    if isinstance(space, spaces.Dict):
        for child, inner in space.spaces.items():
            _check_observation(name, f"{key}{'.' if key else ''}{child}", inner)
        return
    if isinstance(space, spaces.Box) and not _is_image(space):
        return
    where = f" under '{key}'" if key else ""
    what = "images" if isinstance(space, spaces.Box) else "observations that are no numbers"
    raise UserError(
        f"Task '{name}' gives {what}{where}, {space}: expected a Box of numbers (positions, "
        "velocities, ...) or a Dict of such boxes. Wrap the environment to give such features."
    )


def _is_image(space: spaces.Box) -> bool:
    return len(space.shape) >= 3 or (len(space.shape) == 2 and space.dtype == np.uint8)


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

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None):
        obs, info = self.env.reset(seed=seed, options=options)
        return np.asarray(obs, np.float32), info

    def step(self, action: Any):
        obs, reward, terminated, truncated, info = self.env.step(action)
        if self._reward_is_success:
            reward = self._success_reward(info)
        return np.asarray(obs, np.float32), float(reward), terminated, truncated, info

    def _success_reward(self, info: Mapping[str, Any]) -> float:
        success = success_of(info)
        if success is None:
            raise UserError(
                f"Task '{self.task.name}' is rewarded by success, but {self.task.env_id} reports "
                "neither info['success'] nor info['is_success']. Use reward='environment'."
            )
        return float(success)


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
        with _quiet_mujoco(), working_directory_importable():  # where its own modules may lie
            return gym.make(
                spec.env_id,
                max_episode_steps=spec.horizon or _time_limit(spec.env_id),
                disable_env_checker=True,  # it costs on every step; `check_spaces` does its work
                **rendering,
                **spec.env_kwargs,
            )
    except (ImportError, gym.error.Error) as error:
        raise UserError(
            f"Task '{spec.name}' needs the environment {spec.env_id}, which cannot be made here: "
            f"{_text(error)}. Install what it asks for, or choose a newer version of it."
        ) from error


def _text(error: BaseException) -> str:
    """The message of an error, whose arguments may be several sentences."""
    return " ".join(str(part).strip() for part in error.args).rstrip(".") or type(error).__name__


def _unknown_task(name: str, env_id: str) -> UserError:
    """The error for an unknown name, with the nearest task or, failing that, Gymnasium id."""
    near = _nearest(env_id, TASKS) or _nearest(env_id, gym.registry)
    hint = f" Did you mean '{near}'?" if near else ""
    return UserError(
        f"Unknown task '{name}'.{hint} Known: {', '.join(sorted(TASKS))}, and every Gymnasium id "
        "such as 'Hopper-v5' or 'my_package:MyRobot-v0'."
    )


def _nearest(name: str, valid: Mapping[str, Any]) -> str | None:
    lowered = {known.lower(): known for known in valid}
    near = difflib.get_close_matches(name.lower(), lowered, n=1, cutoff=0.7)
    return lowered[near[0]] if near else None


def _register_robotics() -> None:
    """Register Gymnasium-Robotics, without its notice on rewards of `*Dense-v1` environments."""
    _import_mujoco()
    if "gymnasium_robotics" not in sys.modules:
        _drop_dense_reward_notice()
    gym.register_envs(importlib.import_module("gymnasium_robotics"))


def _drop_dense_reward_notice() -> None:
    # The package prints the notice at import, from this table, whichever environment is wanted.
    try:
        from farama_notifications import notifications
    except ImportError:
        return
    notices = notifications.get("gymnasium_robotics", {})
    for version in [v for v, text in notices.items() if "AdroitHandRelocateDense-v1" in text]:
        del notices[version]


def _import_mujoco() -> Any:
    """MuJoCo, which at import already loads the graphics that MUJOCO_GL names."""
    try:
        return importlib.import_module("mujoco")
    except Exception as error:  # each graphics library is missing in its own way
        raise UserError(
            f"MuJoCo cannot be imported ({type(error).__name__}: {_text(error)}). MUJOCO_GL is "
            f"'{os.environ.get('MUJOCO_GL', '')}': unset it, or install the graphics it names."
        ) from error


@contextmanager
def _quiet_mujoco() -> Iterator[None]:
    """Hold MuJoCo's messages while a model is compiled; pass on all but the known harmless one.

    Gymnasium's own half_cheetah.xml uses the attribute `settotalmass`, about which its users can do
    nothing. MuJoCo would also append each message to a file in the working directory.
    """
    mujoco = _import_mujoco()
    _keep_no_log_file(mujoco)
    held: list[str] = []
    before = mujoco.get_mju_user_warning()
    # A Python error inside MuJoCo's callback would abort the process: it only takes notes.
    mujoco.set_mju_user_warning(held.append)
    try:
        yield
    finally:
        mujoco.set_mju_user_warning(before)
    for message in held:
        if "settotalmass" not in message:
            warnings.warn(f"MuJoCo: {message}", stacklevel=4)


def _keep_no_log_file(mujoco: Any) -> None:
    """Stop MuJoCo from writing MUJOCO_LOG.TXT where the user happens to stand."""
    config = mujoco.MjLogConfig.get()
    if (
        config.logto_file and config.logfile == "MUJOCO_LOG.TXT"
    ):  # a file of the user's choice stays
        config.logto_file = False
        config.set()


def _choose_headless_renderer() -> None:
    """Render MuJoCo off screen where there is no display, by the first library that is there.

    Gymnasium reads the choice at its first frame. Left alone it takes the one that needs a window,
    and fails. MuJoCo reads it too, at import, and would fail for a library that is missing.
    """
    chosen = any(os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY", "MUJOCO_GL"))
    if chosen or not sys.platform.startswith("linux"):
        return
    for backend, library in (("egl", "EGL"), ("osmesa", "OSMesa")):
        if ctypes.util.find_library(library):
            os.environ["MUJOCO_GL"] = backend
            return
