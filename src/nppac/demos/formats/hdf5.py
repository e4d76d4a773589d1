"""Arrays of numbers from HDF5 files of strangers, read by `hdf5_worker` in its own process."""

import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple, TypedDict, cast

import numpy as np

from nppac.demos.limits import BYTES
from nppac.utils.budget import Budget
from nppac.utils.errors import UserError
from nppac.utils.files import read_arrays
from nppac.utils.json_reader import parse_json
from nppac.utils.text import brief

_WORKER = Path(__file__).with_name("hdf5_worker.py")
_SECONDS = 120


class Hdf5Contents(NamedTuple):
    """Arrays by their path in the file, and the names at its root."""

    arrays: dict[str, np.ndarray]
    names: list[str]


class _Answer(TypedDict, total=False):
    """What the worker found, or what is wrong with the file."""

    arrays: list[str]
    names: list[str]
    refused: str
    damaged: str


def read_hdf5(path: Path, wanted: Sequence[str]) -> Hdf5Contents:
    """The arrays under the wanted paths that are there.

    Raises a `UserError` for what lies in other files, is no number or takes too much memory.
    """
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "arrays.npz"
        request = {
            "path": str(path.resolve()),
            "wanted": list(wanted),
            "allowed": Budget(path, BYTES).allowed,
            "out": str(out),
        }
        answer = _answer(path, request)
        if "refused" in answer:
            raise UserError(f"{path}: {brief(ValueError(answer['refused']), 300)}.")
        if "damaged" in answer:
            raise _damaged(path, brief(ValueError(answer["damaged"])))
        arrays = read_arrays(out)
    named = {name: arrays[str(i)] for i, name in enumerate(answer.get("arrays", []))}
    return Hdf5Contents(named, answer.get("names", []))


def _answer(path: Path, request: dict[str, object]) -> _Answer:
    program = [sys.executable, "-P", str(_WORKER)]
    try:
        done = subprocess.run(
            program, input=json.dumps(request).encode(), capture_output=True, timeout=_SECONDS
        )
    except subprocess.TimeoutExpired as error:
        raise _damaged(path, f"it takes more than {_SECONDS} seconds") from error
    if done.returncode != 0 or not done.stdout:
        raise _damaged(path, f"the HDF5 library ended with code {done.returncode}")
    found = parse_json(done.stdout, f"{path}: what its reader found", limit=2**28)
    return cast(_Answer, found)  # of our own worker


def _damaged(path: Path, problem: str) -> UserError:
    return UserError(
        f"{path} cannot be read as HDF5: {problem}. It may be damaged or incomplete; "
        "fetch it again."
    )
