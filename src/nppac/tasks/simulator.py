"""What MuJoCo and Gymnasium-Robotics need to be quiet, headless and importable."""

import ctypes.util
import importlib
import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType

import gymnasium as gym

from nppac.utils.errors import UserError


def message_of(error: BaseException) -> str:
    """The message of an error, whose arguments may be several sentences."""
    return " ".join(str(part).strip() for part in error.args).rstrip(".") or type(error).__name__


def drop_dense_reward_notice() -> None:
    """Keep Gymnasium-Robotics from printing its notice on rewards of other environments."""
    # The package prints the notice at import, from this table, whichever environment is wanted.
    try:
        from farama_notifications import notifications
    except ImportError:
        return
    notices = notifications.get("gymnasium_robotics", {})
    for version in [v for v, text in notices.items() if "AdroitHandRelocateDense-v1" in text]:
        del notices[version]


def import_mujoco() -> ModuleType:
    """MuJoCo, which at import already loads the graphics that MUJOCO_GL names."""
    try:
        return importlib.import_module("mujoco")
    except Exception as error:  # each graphics library is missing in its own way
        raise UserError(
            f"MuJoCo cannot be imported ({type(error).__name__}: {message_of(error)}). MUJOCO_GL "
            f"is '{os.environ.get('MUJOCO_GL', '')}': unset it, or install the graphics it names."
        ) from error


def only_simulates(env: gym.Env) -> bool:
    """Whether an environment is one of MuJoCo's that draws nothing: then any thread may step it.

    An environment of another kind may share something with its like, or belong to one thread.
    """
    module = sys.modules.get("gymnasium.envs.mujoco.mujoco_env")  # what made it has imported it
    return (
        module is not None and isinstance(env.unwrapped, module.MujocoEnv) and not env.render_mode
    )


@contextmanager
def quiet_mujoco() -> Iterator[None]:
    """Hold MuJoCo's messages while a model is compiled; pass on all but the known harmless one.

    Gymnasium's own half_cheetah.xml uses the attribute `settotalmass`, about which its users can do
    nothing. MuJoCo would also append each message to a file in the working directory.
    """
    mujoco = import_mujoco()
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


def _keep_no_log_file(mujoco: ModuleType) -> None:
    """Stop MuJoCo from writing MUJOCO_LOG.TXT where the user happens to stand."""
    config = mujoco.MjLogConfig.get()
    if (
        config.logto_file and config.logfile == "MUJOCO_LOG.TXT"
    ):  # a file of the user's choice stays
        config.logto_file = False
        config.set()


def choose_headless_renderer() -> None:
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
