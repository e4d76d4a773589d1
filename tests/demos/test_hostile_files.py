import os
import time
import tracemalloc
from pathlib import Path

import pytest

from nppac.demos import load_demos, validate
from nppac.utils.errors import UserError
from once import made_once

from .hostile_arrays import NPY, npz_entries, with_bomb
from .hostile_hdf5 import SECRET, hdf5_entries, minari_entries
from .inspected import End, inspected

HOSTILE_FILES = NPY | npz_entries() | hdf5_entries() | minari_entries()
INSPECTED = (
    "npy: literal that nests",
    "npz: bomb",
    "npz: JSON with markup for a name",
    "HDF5: values in another file",
    "HDF5: chunk that is a bomb",
    "Minari: environment to be made for both",
)
MEMORY = 3 * 2**30
"""Address space, most of which is libraries that reserve what they do not use."""


def test_there_are_many():
    assert len(HOSTILE_FILES) > 80


@pytest.mark.parametrize("name", HOSTILE_FILES)
def test_hostile_file_is_the_users_error_at_once(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = HOSTILE_FILES[name](tmp_path)
    tracemalloc.start()
    try:
        began = time.process_time()
        with pytest.raises(UserError) as caught:
            validate(load_demos(path))
        assert time.process_time() - began < 5
        assert tracemalloc.get_traced_memory()[1] < 200e6
    finally:
        tracemalloc.stop()
    message = str(caught.value)
    assert path.name in message
    assert message.isprintable()
    assert SECRET[:10] not in message
    assert len(message) < 3 * len(str(path)) + 500
    assert not (tmp_path / "executed").exists()


def test_what_is_not_needed_is_not_unpacked(tmp_path):
    path = with_bomb("notes")(tmp_path)
    tracemalloc.start()
    try:
        assert len(validate(load_demos(path))[0]) == 2
        assert tracemalloc.get_traced_memory()[1] < 10e6
    finally:
        tracemalloc.stop()


@pytest.fixture(scope="module")
def ends(tmp_path_factory):
    """For each file, its path and how `nppac demos inspect` of it ended, out of memory early."""
    return made_once(tmp_path_factory, "hostile-files", inspected_in)


def inspected_in(folder):
    paths = []
    for number, name in enumerate(INSPECTED):
        (folder / str(number)).mkdir()
        paths.append(HOSTILE_FILES[name](folder / str(number)))
    ends = inspected(paths, memory=MEMORY)
    return {n: (str(p), e) for n, p, e in zip(INSPECTED, paths, ends, strict=True)}


@pytest.mark.parametrize("name", INSPECTED)
def test_the_command_line_says_one_line(name, ends):
    path, end = Path(ends[name][0]), End(*ends[name][1])
    assert end.code == 1, end.stderr
    assert end.stdout == ""
    assert end.stderr.startswith(f"error: {path.name}")
    assert end.stderr.count("\n") == 1
    assert SECRET[:10] not in end.stderr
    assert not (path.parent / "executed").exists()


def test_what_is_no_regular_file_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "d.npz")
    for path in (tmp_path / "d.npz", "/dev/zero"):
        with pytest.raises(UserError, match="is no regular file"):
            load_demos(path)
