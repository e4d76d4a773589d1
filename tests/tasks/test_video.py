import subprocess
from ctypes.util import find_library
from itertools import islice

import gymnasium as gym
import imageio_ffmpeg
import jax
import numpy as np
import pytest
from gymnasium import spaces

from nppac.evaluation.evaluate import evaluate_in, summarise_episodes
from nppac.tasks import TaskSpec, get_task, make_env
from nppac.tasks.rollout import episode_seeds
from nppac.tasks.video import _set_view, record_video
from nppac.utils.errors import UserError


class Lamp(gym.Env):
    """Shows grey that grows with time, in a picture of odd height and width."""

    metadata = {"render_modes": ["rgb_array"], "render_fps": 10}  # noqa: RUF012
    observation_space = spaces.Box(-np.inf, np.inf, (1,), np.float32)
    action_space = spaces.Box(-1.0, 1.0, (1,), np.float32)

    def __init__(self, render_mode=None, frame="image"):
        self.render_mode, self.frame = render_mode, frame

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.time, self.value = 0, self.np_random.normal()
        return np.float32([self.value]), {}

    def step(self, action):
        self.time += 1
        return np.float32([self.value]), self.value, False, False, {}

    def render(self):
        if self.frame == "nothing":
            return None
        if self.frame == "crash at 3" and self.time == 3:
            raise RuntimeError("lost the context")
        return np.full((65, 49, 3), 20 * self.time, np.uint8)


jax.devices()  # a policy runs on JAX, which warns of every fork once it has started
gym.register("nppac-video/Lamp-v0", entry_point=Lamp)
LAMP = TaskSpec("lamp", "nppac-video/Lamp-v0", horizon=5)


def lamp(frame):
    return TaskSpec("lamp", "nppac-video/Lamp-v0", env_kwargs={"frame": frame}, horizon=5)


def still(rows):
    return np.zeros((len(rows), 1), np.float32)


def read(path, height, width):
    """Decoded frames and frames per second, by the decoder itself."""
    command = [imageio_ffmpeg.get_ffmpeg_exe(), "-v", "error", "-i", str(path)]
    command += ["-f", "rawvideo", "-pix_fmt", "rgb24", "-"]
    data = subprocess.run(command, capture_output=True, check=True).stdout
    images = np.frombuffer(data, np.uint8).reshape(-1, height, width, 3)
    frames, seconds = imageio_ffmpeg.count_frames_and_secs(str(path))
    assert frames == len(images)
    return images, frames / seconds


def test_every_frame_is_there_in_order(tmp_path):
    path = tmp_path / "new" / "lamp.mp4"
    episodes = record_video(LAMP, still, path, seed=0, episodes=2)
    assert [len(episode) for episode in episodes] == [5, 5]
    images, fps = read(path, 64, 48)  # odd 65 x 49 is cut to even
    assert fps == pytest.approx(10, rel=0.01)
    grey = [image.mean() for image in images]
    np.testing.assert_allclose(grey, [0, 20, 40, 60, 80, 100] * 2, atol=4)
    assert [file.name for file in path.parent.iterdir()] == ["lamp.mp4"]


def test_fps_may_be_chosen(tmp_path):
    record_video(LAMP, still, tmp_path / "lamp.mp4", seed=0, fps=24)
    assert read(tmp_path / "lamp.mp4", 64, 48)[1] == pytest.approx(24, rel=0.01)


def test_the_film_shows_the_episodes_of_the_evaluation(tmp_path):
    filmed = record_video(LAMP, still, tmp_path / "lamp.mp4", seed=4, episodes=2)
    assert summarise_episodes(filmed) == evaluate_in([make_env(LAMP)], still, episodes=2, seed=4)
    seed = next(islice(episode_seeds(4, "evaluation"), 1, None))
    assert make_env(LAMP).reset(seed=seed)[0] == filmed[1].observations[0]


def test_a_failure_leaves_the_old_film_and_no_remains(tmp_path):
    path = tmp_path / "lamp.mp4"
    path.write_bytes(b"old")
    with pytest.raises(UserError, match=r"lost the context.*libegl1.*MUJOCO_GL"):
        record_video(lamp("crash at 3"), still, path, seed=0)
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_no_picture_no_film(tmp_path):
    with pytest.raises(UserError, match="NoneType, not an RGB image"):
        record_video(lamp("nothing"), still, tmp_path / "lamp.mp4", seed=0)
    assert not list(tmp_path.iterdir())


def test_only_mp4(tmp_path):
    with pytest.raises(UserError, match=r"\.mp4"):
        record_video(LAMP, still, tmp_path / "lamp.gif", seed=0)


@pytest.mark.parametrize(("name", "follows"), [("halfcheetah", True), ("door", False)])
def test_the_camera_follows_a_body_that_walks_away(name, follows):
    env = make_env(get_task(name)).unwrapped
    _set_view(env)
    assert (env.mujoco_renderer.camera_id >= 0) is follows


def test_a_camera_that_was_chosen_is_kept():
    spec = TaskSpec("cheetah", "HalfCheetah-v5", env_kwargs={"camera_id": 0})
    env = make_env(spec).unwrapped
    env.mujoco_renderer.camera_id = 5
    _set_view(env)
    assert env.mujoco_renderer.camera_id == 5


@pytest.mark.skipif(
    not (find_library("EGL") or find_library("OSMesa")), reason="no library to render with"
)
def test_a_real_task_on_film(tmp_path):
    spec = TaskSpec("short", "AdroitHandDoorSparse-v1", horizon=3, reward="success")
    path = tmp_path / "door.mp4"
    record_video(spec, lambda rows: np.zeros((1, 28), np.float32), path, seed=0)
    images, fps = read(path, 480, 480)
    assert fps == pytest.approx(100, rel=0.01)
    assert len(images) == 4
    assert images[0].std() > 20  # a picture, not a blank
