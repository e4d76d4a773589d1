"""Small demonstrations, and files of every format that hold them."""

import pickle
from pathlib import Path

import h5py
import numpy as np

from nppac.demos import Demos
from nppac.types import Episode

LENGTHS = (4, 3)
OBS_DIM, ACTION_DIM = 3, 2


def make_episode(steps=4, seed=0, extra=1, **changes) -> Episode:
    rng = np.random.default_rng(seed)
    fields = {
        "observations": rng.normal(size=(steps + 2, OBS_DIM)).astype(np.float32)[: steps + extra],
        "actions": rng.uniform(-1, 1, size=(steps, ACTION_DIM)).astype(np.float32),
        "rewards": rng.normal(size=steps).astype(np.float32),
    }
    return Episode(**(fields | changes))


def make_demos(extra=1, **changes) -> Demos:
    episodes = (make_episode(n, i, extra, **changes) for i, n in enumerate(LENGTHS))
    return Demos(tuple(episodes), "sample")


def assert_same(found: Demos, expected: Demos) -> None:
    assert len(found) == len(expected)
    for a, b in zip(found.episodes, expected.episodes, strict=True):
        for key in ("observations", "actions", "rewards", "successes"):
            left, right = getattr(a, key), getattr(b, key)
            assert (left is None) == (right is None), key
            if left is not None:
                np.testing.assert_array_equal(left, right, strict=True, err_msg=key)
        assert a.terminated == b.terminated


def write_npz(path: Path, demos: Demos, **extra) -> Path:
    arrays = {
        "observations": np.concatenate([e.observations for e in demos.episodes]),
        "actions": np.concatenate([e.actions for e in demos.episodes]),
        "rewards": np.concatenate([e.rewards for e in demos.episodes]),
        "episode_lengths": np.array([len(e) for e in demos.episodes]),
    }
    with path.open("wb") as file:
        np.savez(file, **(arrays | extra))
    return path


def dapg_paths(demos: Demos) -> list[dict]:
    return [
        {
            "observations": e.observations[: len(e)].astype(np.float64),
            "actions": e.actions.astype(np.float64),
            "rewards": e.rewards.astype(np.float64),
            "init_state_dict": {"qpos": np.zeros(30), "qvel": np.zeros(30)},
        }
        for e in demos.episodes
    ]


def write_dapg(path: Path, demos: Demos, protocol=3) -> Path:
    path.write_bytes(pickle.dumps(dapg_paths(demos), protocol=protocol))
    return path


def awac_paths(demos: Demos) -> np.ndarray:
    """As the pen file has it: dicts of float64 rows, and one reward more than there are actions."""
    rows = lambda a: [{"observation": -r, "state_observation": r} for r in a.astype(np.float64)]  # noqa: E731
    paths = np.empty(len(demos), dtype=object)
    for i, e in enumerate(demos.episodes):
        paths[i] = {
            "observations": rows(e.observations[: len(e)]),
            "next_observations": rows(e.observations[1:]),
            "actions": list(e.actions.astype(np.float64)),
            "rewards": np.append(e.rewards.astype(np.float64), -1.0),
            "terminals": np.zeros(len(e)),
            "agent_infos": [{}] * len(e),
            "env_infos": [{}] * len(e),
        }
    return paths


def write_awac(path: Path, demos: Demos) -> Path:
    with path.open("wb") as file:
        np.save(file, awac_paths(demos), allow_pickle=True)
    return path


def d4rl_columns(demos: Demos) -> dict[str, np.ndarray]:
    """The first episode ends by termination, the others by the time limit."""
    ends = np.cumsum([len(e) for e in demos.episodes]) - 1
    steps = ends[-1] + 1
    return {
        "observations": np.concatenate([e.observations[: len(e)] for e in demos.episodes]),
        "next_observations": np.concatenate([e.observations[1:] for e in demos.episodes]),
        "actions": np.concatenate([e.actions for e in demos.episodes]),
        "rewards": np.concatenate([e.rewards for e in demos.episodes]),
        "terminals": np.isin(np.arange(steps), ends[:1]),
        "timeouts": np.isin(np.arange(steps), ends[1:]),
    }


def write_d4rl(path: Path, columns: dict[str, np.ndarray]) -> Path:
    with h5py.File(path, "w") as file:
        for key, column in columns.items():
            file[key] = column
    return path
