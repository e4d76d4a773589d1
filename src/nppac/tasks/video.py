"""A policy on film: episodes rendered off screen and written as one mp4."""

import warnings
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path

import gymnasium as gym
import imageio_ffmpeg
import numpy as np

from nppac.tasks import TaskSpec, make_env
from nppac.tasks.rollout import Act, episode_seeds, rollout
from nppac.types import Episode
from nppac.utils.errors import UserError
from nppac.utils.files import write_atomically

DEFAULT_FPS = 30


def record_video(
    spec: TaskSpec,
    act: Act,
    path: str | Path,
    *,
    seed: int,
    episodes: int = 1,
    fps: float | None = None,
) -> list[Episode]:
    """Write the first `episodes` of the evaluation with this `seed` as an mp4; return them.

    An episode of T steps makes T + 1 frames. `fps` defaults to the environment's real time.
    """
    if Path(path).suffix.lower() != ".mp4":
        raise UserError(f"A video is written as mp4: give {path} the suffix .mp4.")
    seeds = list(islice(episode_seeds(seed, "evaluation"), episodes))
    recorded: list[Episode] = []
    env = _Filmed(make_env(spec, render_mode="rgb_array"), spec)
    try:
        env.fps = fps or env.metadata.get("render_fps") or DEFAULT_FPS
        write_atomically(path, lambda file: recorded.extend(env.film(act, seeds, file.name)))
    finally:
        env.close()
    return recorded


class _Filmed(gym.Wrapper):
    """Sends a frame to the encoder after every reset and step, so that none is kept in memory."""

    fps: float = DEFAULT_FPS

    def __init__(self, env: gym.Env, spec: TaskSpec):
        super().__init__(env)
        _set_view(env.unwrapped)
        self._spec = spec
        self._target = ""
        self._encoder: Generator[None, object, None] | None = None
        self._frames = 0

    def film(self, act: Act, seeds: list[int], target: str) -> list[Episode]:
        """Roll out one episode per seed into the file `target`."""
        self._target = target
        try:
            episodes = rollout([self], act, seeds)
        finally:
            if self._encoder is not None:
                self._encoder.close()
        # The encoder's exit status is lost: count, lest a full disk leave half a video.
        with _quiet_fork():
            frames, _ = imageio_ffmpeg.count_frames_and_secs(target)
        if frames != self._frames:
            raise OSError("the encoder wrote only a part of the frames")
        return episodes

    def reset(self, *, seed: int | None = None, options: dict[str, object] | None = None):
        result = self.env.reset(seed=seed, options=options)
        self._shoot()
        return result

    def step(self, action: object):
        result = self.env.step(action)
        self._shoot()
        return result

    def _shoot(self) -> None:
        frame = _render(self.env, self._spec)
        if self._encoder is None:
            self._encoder = _open_encoder(self._target, frame, self.fps)
        self._encoder.send(frame)
        self._frames += 1


def _set_view(env: object) -> None:
    """Follow a MuJoCo body that leaves the picture, and leave its shadows out.

    Gymnasium's default camera stands still even where the model has one named "track". Shadows are
    the greater part of a frame's time where there is no graphics card.
    """
    renderer = getattr(env, "mujoco_renderer", None)
    if renderer is None:
        return
    model = renderer.model
    cameras = [model.camera(i).name for i in range(model.ncam)]
    if renderer.camera_id == -1 and "track" in cameras:
        renderer.camera_id = cameras.index("track")
    model.vis.quality.shadowsize = 0


def _open_encoder(target: str, frame: np.ndarray, fps: float) -> Generator[None, object, None]:
    height, width, _ = frame.shape
    encoder = imageio_ffmpeg.write_frames(
        target,
        (width, height),
        fps=fps,  # pyright: ignore[reportArgumentType] (fractions of a frame are documented)
        quality=8,
        macro_block_size=2,
        ffmpeg_log_level="error",
        output_params=["-f", "mp4", "-movflags", "+faststart"],  # the target has no suffix
    )
    with _quiet_fork():
        encoder.send(None)
    return encoder


@contextmanager
def _quiet_fork() -> Iterator[None]:
    """Start a program without JAX's warning: it is for children that go on in Python."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", r"os\.fork\(\) was called", RuntimeWarning)
        yield


def _render(env: gym.Env, spec: TaskSpec) -> np.ndarray:
    """The current frame, contiguous and of even height and width, as the codec asks."""
    try:
        frame = env.render()
    except Exception as error:  # each graphics stack fails in its own way
        raise _cannot_render(spec, f"{type(error).__name__}: {error}") from error
    if not (isinstance(frame, np.ndarray) and frame.ndim == 3 and frame.shape[2] == 3):
        raise _cannot_render(spec, f"render() gave {type(frame).__name__}, not an RGB image")
    height, width, _ = frame.shape
    return np.ascontiguousarray(frame[: height // 2 * 2, : width // 2 * 2], np.uint8)


def _cannot_render(spec: TaskSpec, reason: str) -> UserError:
    return UserError(
        f"Task '{spec.name}' cannot be rendered here ({reason}). Without a screen MuJoCo needs EGL "
        "or OSMesa: install libegl1 and libgl1, or libosmesa6 (Debian and Ubuntu: apt-get install "
        "libegl1 libgl1), and leave MUJOCO_GL unset or set it to egl or osmesa. An environment of "
        "another kind must support render_mode='rgb_array'."
    )
