"""The layouts of the published files, built here; and the files themselves where they are present.

A checkout that has them keeps them in `shared/data` beside it, or NPPAC_DATA names their directory.
"""

import os
import pickle
from pathlib import Path

import h5py
import numpy as np
import pytest

from nppac.demos import describe, load_demos, validate
from nppac.demos.for_task import load_task_demos
from nppac.tasks import get_task

BESIDE = Path(__file__).resolve().parents[3] / "shared" / "data"
DATA = Path(os.environ.get("NPPAC_DATA", BESIDE))

# task, episodes, shortest, longest, observation size, action size, mean return, notes
FACTS = {
    "door-v0_demos.pickle": ("door", 25, 223, 300, 39, 28, 794.1, "Clipped 10595 of 188412"),
    "pen2_sparse.npy": ("pen", 25, 199, 199, 45, 24, -101.08, "Dropped the last of the rewards in"),
    "halfcheetah-expert.npz": (
        "halfcheetah",
        15,
        1000,
        1000,
        17,
        6,
        10647.7,
        "2 of 15 demonstrations end",
    ),
    "walker2d-expert.npz": ("walker2d", 15, 1000, 1000, 17, 6, 4420.57, ""),
    "ant-expert.npz": ("ant", 15, 1000, 1000, 27, 8, 4345.36, ""),
}


def numbers(*shape: int, largest: float = 1.0) -> np.ndarray:
    return np.random.default_rng(0).uniform(-largest, largest, shape)


def door(path: Path) -> None:
    """DAPG's release: a pickle of dicts with the simulator's first state, actions up to 1.37."""
    episodes = [
        {
            "observations": numbers(steps, 39),
            "actions": numbers(steps, 28, largest=1.3662),
            "rewards": numbers(steps),
            "init_state_dict": {
                "qpos": np.zeros(30),
                "qvel": np.zeros(30),
                "door_body_pos": np.zeros(3),
            },
        }
        for steps in (223, 300)
    ]
    path.write_bytes(pickle.dumps(episodes, protocol=3))


def pen(path: Path) -> None:
    """AWAC's release: an npy file of dicts of lists, with one reward more than actions."""
    paths = np.empty(2, object)
    for i in range(2):
        rows = [{"observation": row, "state_observation": row} for row in numbers(199, 45)]
        paths[i] = {
            "observations": rows,
            "next_observations": rows,
            "actions": list(numbers(199, 24)),
            "rewards": np.full(200, -1.0),
            "terminals": np.zeros((199, 1)),
            "agent_infos": [{}] * 199,
            "env_infos": [{}] * 199,
        }
    np.save(path, paths, allow_pickle=True)


def runner(env_id: str, obs_dim: int, action_dim: int, kwargs: str = "{}"):
    """nppac's own arrays, as the experts of the runners come: T + 1 observations an episode."""

    def write(path: Path) -> None:
        with path.open("wb") as file:
            np.savez(
                file,
                observations=numbers(2002, obs_dim).astype(np.float32),
                actions=numbers(2000, action_dim).astype(np.float32),
                rewards=numbers(2000).astype(np.float32),
                episode_lengths=np.array([1000, 1000]),
                env_id=np.array(env_id),
                env_kwargs=np.array(kwargs),
            )

    return write


def d4rl(path: Path) -> None:
    """D4RL's release: flat, gzipped columns, and groups that are of no concern."""
    with h5py.File(path, "w") as file:
        columns = {
            "observations": numbers(400, 39).astype(np.float32),
            "actions": numbers(400, 28).astype(np.float32),
            "rewards": numbers(400).astype(np.float32),
            "terminals": np.zeros(400, bool),
            "timeouts": np.arange(400) % 200 == 199,
            "infos/qpos": numbers(400, 30),
        }
        for name, column in columns.items():
            file.create_dataset(name, data=column, compression="gzip")
        file["metadata/algorithm"] = "BC"


# task, what writes the file, episodes, longest, beginnings of the notes
LAYOUTS = {
    "door-v0_demos.pickle": ("door", door, 2, 300, "Clipped"),
    "pen2_sparse.npy": ("pen", pen, 2, 199, "Dropped the last of the rewards in 2 episodes"),
    "halfcheetah-expert.npz": ("halfcheetah", runner("HalfCheetah-v5", 17, 6), 2, 1000, ""),
    "walker2d-expert.npz": ("walker2d", runner("Walker2d-v5", 17, 6), 2, 1000, ""),
    "ant-expert.npz": (
        "ant",
        runner("Ant-v5", 27, 8, '{"include_cfrc_ext_in_observation": false}'),
        2,
        1000,
        "",
    ),
    "door-human-v1.hdf5": ("door", d4rl, 2, 200, ""),
}


@pytest.mark.parametrize("name", LAYOUTS)
def test_a_file_of_a_published_layout_is_read_for_its_task(name, tmp_path, capsys):
    task, write, episodes, longest, note = LAYOUTS[name]
    write(tmp_path / name)
    whole = load_demos(tmp_path / name)
    assert (len(whole), max(len(e) for e in whole.episodes)) == (episodes, longest)
    found = load_task_demos(get_task(task), str(tmp_path / name), None)
    assert found is not None
    assert found.obs.dtype == found.actions.dtype == np.float32
    assert 0.5 < np.abs(found.actions).max() <= 1
    err = capsys.readouterr().err
    assert err.startswith(f"{tmp_path / name}: {note}") if note else err == ""


@pytest.mark.parametrize("name", FACTS)
def test_the_published_file_itself(name, capsys):
    if not (DATA / name).is_file():
        pytest.skip(f"{name} is not in {DATA}; a file of its layout is tested above")
    task, episodes, shortest, longest, obs_dim, action_dim, mean_return, note = FACTS[name]
    demos, _ = validate(load_demos(DATA / name), obs_dim=obs_dim, action_dim=action_dim)
    facts = describe(demos)
    assert facts["episodes"] == episodes
    assert (facts["lengths"]["min"], facts["lengths"]["max"]) == (shortest, longest)
    assert facts["returns"]["mean"] == pytest.approx(mean_return, abs=0.05)
    found = load_task_demos(get_task(task), str(DATA / name), None)
    assert found is not None
    assert np.abs(found.actions).max() <= 1
    err = capsys.readouterr().err
    assert err.startswith(f"{DATA / name}: {note}") if note else err == ""
