import json
import os
import random
import subprocess
import sys
from pickle import dumps

import numpy as np
import pytest

from nppac.demos import load_demos
from nppac.utils.errors import UserError
from once import made_once

from .hostile import HOSTILE, NDARRAY_OVER_ADDRESSES
from .inspected import inspected

ENVIRONMENT = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory):
    return made_once(tmp_path_factory, "hostile-pickles", loaded_in)


def loaded_in(folder):
    """The path that every file had, and what came of each."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-m", "demos.hostile_run", str(folder)],
        env=ENVIRONMENT,
        capture_output=True,
        check=True,
    )
    return str(folder / "d.pickle"), json.loads(done.stdout)


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_file_is_the_users_error_at_once(name, outcomes):
    path, found = outcomes[0], outcomes[1][name]
    assert found["kind"] == "UserError"
    assert found["seconds"] < 5
    assert found["memory"] < 64e6
    message = found["message"]
    assert message.startswith(path)
    assert message.isprintable()
    assert len(message) < len(path) + 500


def test_hostile_file_does_not_end_the_command_line(tmp_path):
    (tmp_path / "d.pickle").write_bytes(NDARRAY_OVER_ADDRESSES)
    (end,) = inspected([tmp_path / "d.pickle"])
    assert end.code == 1
    assert end.stdout == ""
    assert end.stderr.startswith("error: d.pickle: refused to call 'ndarray'")
    assert end.stderr.count("\n") == 1


def test_operations_that_arrays_do_not_need_are_refused_by_name(tmp_path):
    for name, operation in [("persistent id", "PERSID"), ("extension", "EXT1"), ("object", "OBJ")]:
        (tmp_path / "d.pickle").write_bytes(HOSTILE[name])
        with pytest.raises(UserError, match=f"refused the pickle operation {operation}"):
            load_demos(tmp_path / "d.pickle")


def sound_files() -> list[bytes]:
    rng = np.random.default_rng(0)
    paths = [
        {
            "observations": rng.normal(size=(3, 2)),
            "actions": [[0.5, np.float32(1.0)], [True, 2], [-1.0, 0]],
            "rewards": np.asfortranarray(rng.normal(size=(3, 1))).astype(">f4"),
            "terminals": np.array([0, 0, 1], bool),
            "env_infos": {"goal_achieved": np.array([0, 1, 1], dtype=object), "names": {"a", 1}},
            "next_observations": [(0.5, 1.0), (2, 3), (4, np.int8(5))],
            "names": np.array(["a", "b", "c"]),
        }
    ]
    return [dumps(paths, protocol=protocol) for protocol in range(6)]


def mutated(rng: random.Random, data: bytes) -> bytes:
    """A few bytes changed, left out, moved or repeated; the format's first bytes stay."""
    changed = bytearray(data)
    for _ in range(rng.randint(1, 3)):
        start = rng.randrange(3, max(4, len(changed)))
        end = start + rng.choice([1, 1, 2, 4, 8, 20])
        what = rng.randrange(12)
        if what <= 8:  # mostly one byte, so that some files stay readable
            changed[start : start + 1] = rng.randbytes(1)
        elif what == 9:
            changed[start:start] = changed[start:end]
        elif what == 10:
            del changed[start:end]
        else:
            other = rng.randrange(3, max(4, len(changed)))
            changed[other:other] = changed[start:end]
    return bytes(changed)


def test_damaged_files_raise_nothing_but_the_users_error(tmp_path):
    rng, refused, path = random.Random(0), 0, tmp_path / "d.pickle"
    sound, hostile = sound_files(), [data for data in HOSTILE.values() if len(data) < 1000]
    for data in sound:
        path.write_bytes(data)
        load_demos(path)
    for _ in range(1500):
        path.write_bytes(mutated(rng, rng.choice(rng.choice([sound, hostile]))))
        try:
            load_demos(path)
        except UserError:
            refused += 1
    assert 500 < refused < 1450
