"""A task that trains in milliseconds, for every test that needs a whole run.

`toy_task:nppac-toy/Reach-v0` is known to any process that finds this module. With NPPAC_TOY_WAIT
set to `STEP:DIRECTORY` an environment that comes to its so-many-th step makes the directory and
waits until it is gone, so that another process can catch a run at a known place.
"""

import os
import time
from pathlib import Path

import gymnasium as gym
import numpy as np
from gymnasium import spaces

from nppac.agents.kl_actor_critic import KLActorCritic
from nppac.agents.schedule import Schedule
from nppac.demos import demos_from_episodes, save_demos
from nppac.evaluation.metrics import CLOCK_COLUMNS, COLUMNS
from nppac.references import GPConfig
from nppac.tasks import get_task, make_env
from nppac.tasks.rollout import rollout
from nppac.training.config import RunConfig
from nppac.utils.files import read_arrays

TASK = "toy_task:nppac-toy/Reach-v0"
OBS_DIM, ACTION_DIM, HORIZON = 3, 2, 7


class Reach(gym.Env):
    """Push a point to the origin of the plane against some wind; leaving the field is the end."""

    observation_space = spaces.Box(-np.inf, np.inf, (OBS_DIM,), np.float32)
    action_space = spaces.Box(-1.0, 1.0, (ACTION_DIM,), np.float32)

    def __init__(self):
        self.steps = 0
        step, _, sign = os.environ.get("NPPAC_TOY_WAIT", "0:").partition(":")
        self.wait_at, self.sign = int(step), Path(sign)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.position, self.time = self.np_random.normal(size=2), 0
        return self._obs(), {}

    def step(self, action):
        self.steps += 1
        if self.steps == self.wait_at:
            self._wait()
        self.time += 1
        self.position = self.position + 0.5 * action + 0.1 * self.np_random.normal(size=2)
        distance = float(np.linalg.norm(self.position))
        info = {"success": distance < 0.3}
        return self._obs(), -distance, distance > 3.0, False, info

    def _wait(self):
        self.sign.mkdir()
        while self.sign.exists():
            time.sleep(0.01)

    def _obs(self):
        return np.float32([*self.position, self.time / HORIZON])


gym.register("nppac-toy/Reach-v0", entry_point=Reach, max_episode_steps=HORIZON)

AGENT = KLActorCritic(policy_hidden=(8,), critic_hidden=(8,))
SCHEDULE = Schedule(
    steps=100,
    epoch_steps=20,
    warmup_steps=20,
    batch_size=16,
    replay_capacity=60,
    eval_every=40,
    eval_episodes=2,
    eval_envs=2,
    checkpoint_every=40,
)
GP = GPConfig(kernel="rbf", max_steps=5)
FLAGS = [
    *("--task", TASK, "--method", "nppac"),
    *("--policy-hidden", "8", "--critic-hidden", "8", "--head", "tanh_normal"),
    *("--kl", "sample", "--temperature", "0.1", "--exploration-noise", "1"),
    *("--steps", "100", "--epoch-steps", "20", "--warmup-steps", "20", "--batch-size", "16"),
    *("--replay-capacity", "60", "--checkpoint-every", "40", "--pretrain-epochs", "2"),
    *("--pretrain-copies", "1"),
    *("--eval-every", "40", "--eval-episodes", "2", "--eval-envs", "2"),
    *("--gp.kernel", "rbf", "--gp.max-steps", "5"),
]
"""`SCHEDULE`, `AGENT` and `GP` as the command line takes them, and a little pretraining."""


def expert(rows: np.ndarray) -> np.ndarray:
    return np.clip(-rows[:, :2], -1, 1)


def write_demos(path: Path, task: str = TASK, act=expert, episodes: int = 4) -> Path:
    """Demonstrations of `act` in a file."""
    spec = get_task(task)
    recorded = rollout([make_env(spec)], act, range(episodes))
    demos = demos_from_episodes(recorded, env_id=spec.env_id, env_kwargs={}, provenance={})
    save_demos(path, demos)
    return path


def make_config(**settings) -> RunConfig:
    """A run against the uniform reference, unless the settings say otherwise."""
    basis = {"task": TASK, "reference": "uniform", "agent": AGENT, "schedule": SCHEDULE, "gp": GP}
    return RunConfig(**{**basis, **settings})


def state_of(directory: Path) -> dict[str, np.ndarray]:
    """Every array of a run's checkpoint but its clock."""
    arrays = read_arrays(directory / "checkpoint.npz")
    return {name: array for name, array in arrays.items() if name != "progress/wall_seconds"}


def metrics_of(directory: Path) -> list[list[str]]:
    """The text of a run's metrics but for the columns that hang on the clock."""
    timed = [COLUMNS.index(column) for column in CLOCK_COLUMNS]
    lines = [line.split(",") for line in (directory / "metrics.csv").read_text().splitlines()]
    return [[field for i, field in enumerate(line) if i not in timed] for line in lines]


def assert_same_run(left: Path, right: Path) -> None:
    """The same networks, optimisers, replay, counters and metrics, bit for bit."""
    ours, theirs = state_of(left), state_of(right)
    assert ours.keys() == theirs.keys()
    for name, array in ours.items():
        assert array.dtype == theirs[name].dtype, name
        np.testing.assert_array_equal(array, theirs[name], err_msg=name)
    assert metrics_of(left) == metrics_of(right)
