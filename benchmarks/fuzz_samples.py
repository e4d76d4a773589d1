"""Small sound files of every format that `fuzz_readers` damages."""

import io
import json
import pickle
from collections.abc import Mapping

import h5py
import numpy as np

Parts = Mapping[str, bytes]
STEPS = 6


def _rng() -> np.random.Generator:
    return np.random.default_rng(0)


def npy(array: object) -> bytes:
    """An array as an npy file."""
    buffer = io.BytesIO()
    np.save(buffer, np.asarray(array), allow_pickle=True)
    return buffer.getvalue()


def npz_members() -> Parts:
    """The arrays of nppac's own format."""
    rng = _rng()
    arrays = {
        "observations": rng.normal(size=(STEPS + 2, 3)).astype(np.float32),
        "actions": rng.uniform(-1, 1, (STEPS, 2)).astype(np.float32),
        "rewards": rng.normal(size=STEPS),
        "successes": np.zeros(STEPS, bool),
        "episode_lengths": np.array([4, 2]),
        "terminated": np.array([True, False]),
        "env_id": "Ant-v5",
        "action_units": "normalised",
        "env_kwargs": '{"a": [1, null]}',
        "provenance": '{"seed": 3, "episode_seeds": [7, 8], "command": "nppac demos"}',
    }
    return {f"{name}.npy": npy(array) for name, array in arrays.items()}


def _paths() -> list[dict[str, object]]:
    rng = _rng()
    return [
        {
            "observations": rng.normal(size=(STEPS, 3)),
            "actions": rng.uniform(-1, 1, (STEPS, 2)),
            "rewards": rng.normal(size=STEPS),
            "terminals": np.zeros(STEPS, bool),
            "env_infos": {"goal_achieved": np.zeros(STEPS, bool)},
        }
    ]


def dapg_files() -> list[Parts]:
    """A pickle of each protocol."""
    return [{"file": pickle.dumps(_paths(), protocol)} for protocol in range(6)]


def awac_file() -> list[Parts]:
    """An npy file of dicts."""
    paths = np.empty(1, object)
    paths[0] = _paths()[0]
    return [{"file": npy(paths)}]


def _hdf5(arrays: Mapping[str, np.ndarray], latest: bool, settings: Mapping[str, object]) -> bytes:
    buffer = io.BytesIO()
    with h5py.File(buffer, "w", libver="latest" if latest else "earliest") as file:
        for name, array in arrays.items():
            file.create_dataset(name, data=array, **settings)
    return buffer.getvalue()


PACKED = {"compression": "gzip", "shuffle": True, "fletcher32": True}


def d4rl_files() -> list[Parts]:
    """D4RL's layout in old and new HDF5, plain and compressed."""
    (path,) = _paths()
    arrays = {k: v for k, v in path.items() if isinstance(v, np.ndarray)}
    arrays["timeouts"] = np.arange(STEPS) == 3
    return [
        {"file": _hdf5(arrays, latest, settings)}
        for latest in (False, True)
        for settings in ({}, PACKED)
    ]


def _box(size: int) -> dict[str, object]:
    bounds = {"low": [-1.0] * size, "high": [1.0] * size}
    return {"type": "Box", "dtype": "float32", "shape": [size], **bounds}


def minari_parts() -> list[Parts]:
    """Minari datasets with observations of one box and of a dict of two."""
    (path,) = _paths()
    dictionary = {"type": "Dict", "subspaces": {"a": _box(1), "b": _box(2)}}
    return [_minari(path, _box(3)), _minari(path, dictionary)]


def _minari(path: Mapping[str, object], space: Mapping[str, object]) -> Parts:
    metadata = {
        "total_episodes": 1,
        "total_steps": STEPS,
        "data_format": "hdf5",
        "observation_space": json.dumps(space),
        "action_space": json.dumps(_box(2)),
        "env_spec": json.dumps({"id": "Ant-v5", "entry_point": "os:system", "kwargs": {}}),
        "dataset_id": "a/b-v0",
        "minari_version": "0.5.4",
    }
    seen = np.asarray(path["observations"])
    parts = {"": seen} if space["type"] == "Box" else {"/a": seen[:, :1], "/b": seen[:, 1:]}
    arrays = {f"episode_0/observations{name}": part for name, part in parts.items()}
    arrays |= {f"episode_0/{key}": np.asarray(path[key]) for key in ("actions", "rewards")}
    arrays |= {f"episode_0/{key}": np.zeros(STEPS, bool) for key in ("terminations", "truncations")}
    arrays["episode_0/infos/success"] = np.ones(STEPS + 1, bool)
    return {
        "metadata.json": json.dumps(metadata).encode(),
        "main_data.hdf5": _hdf5(arrays, False, {}),
    }


def json_file() -> list[Parts]:
    """JSON with every kind of value."""
    value = {"a": [1, 2.5, None, True], "text": "ü\u2028 \U0001f600", "deep": [[{"b": {}}]]}
    return [{"file": json.dumps(value).encode()}, {"file": json.dumps([value] * 3).encode()}]


def yaml_file() -> list[Parts]:
    """YAML with every kind of value, in blocks and in JSON's form."""
    flow = '{"a": [1, 2.5, null, true], "text": "ü \U0001f600", "deep": [[{"b": {}}]]}'
    text = (
        "a: [1, 2.5e-3, ~, true]\nb:\n  - c: 'x'\n    d: \"\\x41\"\n  - |\n    lines\n'1': 0x1F\n"
    )
    return [{"file": text.encode()}, {"file": flow.encode()}]


def plan_file() -> list[Parts]:
    """A plan of a sweep."""
    text = (
        "out: runs/s\nmethods: {nppac: {temperature: 0.1}, sac: }\ntasks: [door]\n"
        "references: [gp]\nseeds: 0..4\nsettings:\n  steps: 15000\nthreads_per_run: 1\n"
    )
    return [{"file": text.encode()}]


def metrics_file() -> list[Parts]:
    """The metrics of a run of three rows."""
    from nppac.evaluation.metrics import COLUMNS

    rows = [[str(10 * i), *["0.5", ""][: len(COLUMNS) - 1]] for i in range(3)]
    rows = [row + ["1e-3"] * (len(COLUMNS) - len(row)) for row in rows]
    lines = [",".join(row) for row in [list(COLUMNS), *rows]]
    return [{"file": ("\n".join(lines) + "\n").encode()}]


def _members(arrays: Mapping[str, object]) -> Parts:
    return {f"{name}.npy": npy(array) for name, array in arrays.items()}


def reference_members() -> list[Parts]:
    """Two references that need no fit."""
    inner = {"kind": "uniform", "action_dim": 2}
    outer = {f"mean_of_{name}": value for name, value in inner.items()}
    return [_members(inner), _members({"kind": "constant_variance", "variance": 0.5, **outer})]


def policy_members() -> Parts:
    """A distilled policy of two layers."""
    layers = {"weight_0": np.ones((3, 4)), "bias_0": np.ones(4)}
    layers |= {"weight_1": np.ones((4, 2)), "bias_1": np.ones(2)}
    arrays = {"centre": np.zeros(3), "spread": np.ones(3), **layers}
    single = {name: array.astype("<f4") for name, array in arrays.items()}
    words = {"kind": "policy", "task": "door", "record": '{"a": 1}'}
    return _members({**words, "format": 1, "layers": 2, **single})


def config_file() -> list[Parts]:
    """The configuration of a run."""
    from nppac.training.config import RunConfig, to_json

    return [{"config.json": json.dumps(to_json(RunConfig())).encode()}]
