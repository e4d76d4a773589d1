import re

import numpy as np
import pytest

from nppac.training.checkpoint import (
    load_state,
    load_visited,
)
from nppac.training.checkpoint_arrays import DamagedCheckpoint
from nppac.utils.errors import UserError
from nppac.utils.files import read_arrays, write_arrays
from toy_task import OBS_DIM

from .checkpoints import (
    fresh_state,
    load_checkpoint_epoch,
    newest,
)


def test_edited_checkpoints_are_refused(two):
    path, rng = two / "checkpoint.npz", np.random.default_rng(0)
    whole = path.read_bytes()
    for place in rng.choice(len(whole), 100, replace=False):
        edited = bytearray(whole)
        edited[place] ^= int(rng.integers(1, 256))
        path.write_bytes(edited)
        with pytest.raises(DamagedCheckpoint, match=r"checkpoint\.npz"):
            load_state(path, fresh_state())


def test_rewritten_checkpoints_are_refused(two):
    path, rng = two / "checkpoint.npz", np.random.default_rng(0)
    with np.load(path) as archive:
        arrays = {name: archive[name] for name in archive.files if name != "checksum"}
        kept = archive["checksum"]
    for name, array in arrays.items():
        changed = array.copy().reshape(-1)
        if not changed.size:
            continue
        changed.view(np.uint8)[rng.integers(changed.nbytes)] ^= 1
        np.savez(path, **{**arrays, name: changed.reshape(array.shape), "checksum": kept})
        with pytest.raises(DamagedCheckpoint, match="checksum"):
            load_state(path, fresh_state())


def test_a_checkpoint_without_its_checksum_is_refused(two):
    path = two / "checkpoint.npz"
    np.savez(path, **read_arrays(path))
    with pytest.raises(DamagedCheckpoint, match="has no checksum"):
        load_state(path, fresh_state())


@pytest.mark.parametrize("name", ["replay/.reward", "replay/.obs", "state/.policy.trunk.biases[0]"])
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_numbers_that_are_not_finite_are_refused_with_their_place(two, name, value):
    path = two / "checkpoint.npz"
    arrays = read_arrays(path)
    array = arrays[name].copy()
    array[3] = value
    write_arrays(path, {**arrays, name: array})
    message = rf"{value:g} in '{re.escape(name)}' at \[3"
    with pytest.raises(UserError, match=message):
        newest(two)
    if name.startswith("state"):
        with pytest.raises(UserError, match=message):
            load_state(path, fresh_state())


def test_an_incomplete_checkpoint_is_refused(two):
    arrays = read_arrays(two / "checkpoint.npz")
    for name in ("progress/epoch", "replay/position", "replay/size"):
        rest = {key: array for key, array in arrays.items() if key != name}
        write_arrays(two / "checkpoint.npz", rest)
        with pytest.raises(DamagedCheckpoint, match="no complete checkpoint"):
            load_checkpoint_epoch(two / "checkpoint.npz")


FORGED = {
    "progress/epoch": [np.array("x"), np.array(-1), np.array(2**62), np.array([3])],
    "progress/env_steps": [np.array(np.nan), np.array(60.0), np.array(True)],
    "progress/wall_seconds": [np.array(np.inf), np.array(-1.0), np.array("x")],
    "replay/position": [np.array("x"), np.array(-1), np.array(10**9)],
    "replay/size": [np.array(10**9), np.array(1.5)],
    "replay/.reward": [np.array(["x"] * 8), np.zeros(3, np.float32), np.array(1.0)],
    "replay/.obs": [np.zeros((8, OBS_DIM), bool)],
    "state/.policy.trunk.biases[0]": [np.array(["x"] * 8)],
    "incumbent/challenges": [np.array("x"), np.array(-1)],
    "incumbent/scores": [np.array(["x"]), np.zeros((2, 2)), np.zeros(2**21, np.float32)],
    "incumbent/unit": [np.array("x"), np.array(np.nan)],
    "incumbent/challenger_from": [np.array("x"), np.array(-1)],
    "incumbent/contender/env_steps": [np.array("x"), np.array(-1)],
    "incumbent/contender/best": [np.array("x"), np.array(np.inf), np.array(1)],
    "incumbent/contender/margin": [np.array("x"), np.array(-1.0)],
}
"""What does not belong into a checkpoint, with a checksum that fits."""


@pytest.mark.parametrize("name", FORGED)
def test_forged_checkpoints_are_refused_by_whoever_reads_them(two, name):
    path = two / "checkpoint.npz"
    arrays = read_arrays(path)
    for forged in FORGED[name]:
        write_arrays(path, {**arrays, name: forged})
        for read in (load_checkpoint_epoch, load_visited, lambda p: load_state(p, fresh_state())):
            with pytest.raises(DamagedCheckpoint, match=r"no sound checkpoint: (its replay|')"):
                read(path)
