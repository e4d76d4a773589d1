import os
import stat
import zipfile

import numpy as np
import pytest

from nppac.references import UniformReference, fit_named_reference, load_reference
from nppac.utils.checksum import CHECKSUM
from nppac.utils.errors import UserError
from nppac.utils.files import read_arrays, write_arrays

ARRAYS = {
    "x": np.arange(600.0).reshape(20, 30).T,
    "kind": np.asarray("gp"),
    "n": np.array(3),
    "none": np.zeros((0, 3), np.float32),
    "flags": np.array([True, False]),
}


@pytest.fixture
def path(tmp_path):
    write_arrays(tmp_path / "a.npz", ARRAYS)
    return tmp_path / "a.npz"


def edits(whole, count, seed=0):
    """So many copies of a file, each with one byte changed."""
    rng = np.random.default_rng(seed)
    for place in rng.choice(len(whole), count, replace=False):
        edited = bytearray(whole)
        edited[place] ^= int(rng.integers(1, 256))
        yield bytes(edited)


def rewritten(path, change):
    """The same archive written again by NumPy, so that every CRC is right."""
    with np.load(path) as archive:
        arrays = {name: archive[name] for name in archive.files}
    change(arrays)
    np.savez(path, **arrays)


def refused(path, contents, read):
    path.write_bytes(contents)
    try:
        read(path)
    except UserError as error:
        return str(path) in str(error)
    return False


def test_every_single_byte_is_guarded(path):
    whole = path.read_bytes()
    for place in range(len(whole)):
        edited = bytearray(whole)
        edited[place] ^= 0x40
        assert refused(path, bytes(edited), read_arrays), place


@pytest.mark.parametrize("compress", [False, True])
def test_a_file_that_is_longer_or_shorter_is_refused(path, compress):
    write_arrays(path, ARRAYS, compress=compress)
    whole = path.read_bytes()
    for contents in (whole[:-1], whole[:-30], whole[:-77], whole + b"x", whole + whole, b""):
        assert refused(path, contents, read_arrays)
    assert not refused(path, whole, read_arrays)


def test_edited_references_are_refused(tmp_path):
    rng = np.random.default_rng(0)
    obs, actions = rng.normal(size=(30, 3)), rng.uniform(-1, 1, (30, 2))
    path = tmp_path / "reference.npz"
    for reference in (fit_named_reference("gp", obs, actions), UniformReference(2)):
        reference.save(path)
        whole = path.read_bytes()
        assert sum(refused(path, edited, load_reference) for edited in edits(whole, 100)) == 100
        path.write_bytes(whole)
        load_reference(path)


def increment(name):
    def change(arrays):
        arrays[name] = arrays[name] + 1

    return change


@pytest.mark.parametrize(
    "change",
    [
        increment("n"),
        increment("x"),
        lambda arrays: arrays.pop("none"),
        lambda arrays: arrays.update(more=np.zeros(2)),
        lambda arrays: arrays.update(n=arrays["n"].astype(np.int32)),
        lambda arrays: arrays.update(x=arrays["x"].reshape(20, 30)),
        lambda arrays: arrays.update(kind=np.asarray("network")),
        lambda arrays: arrays.update(m=arrays.pop("n")),
    ],
)
def test_a_change_with_valid_crcs_is_refused(path, change):
    rewritten(path, change)
    with pytest.raises(UserError, match=r"a\.npz is damaged: .*checksum"):
        read_arrays(path)


def test_an_archive_that_was_only_rewritten_is_read(path):
    rewritten(path, lambda arrays: None)
    found = read_arrays(path)
    assert found.keys() == ARRAYS.keys()


def test_other_programs_read_the_file(path):
    with zipfile.ZipFile(path) as archive:
        assert archive.testzip() is None
    with np.load(path) as archive:
        assert set(archive.files) == {*ARRAYS, CHECKSUM}


def test_an_older_file_is_read_if_the_user_accepts_it(tmp_path, monkeypatch):
    np.savez(tmp_path / "old.npz", **ARRAYS)
    with pytest.raises(UserError, match="NPPAC_UNCHECKED_FILES=1 reads it"):
        read_arrays(tmp_path / "old.npz", checked=True)
    monkeypatch.setenv("NPPAC_UNCHECKED_FILES", "1")
    assert read_arrays(tmp_path / "old.npz", checked=True).keys() == ARRAYS.keys()


def test_a_file_without_a_checksum_is_read_only_where_none_is_asked_for(tmp_path, path):
    np.savez(tmp_path / "old.npz", **ARRAYS)
    assert read_arrays(tmp_path / "old.npz").keys() == ARRAYS.keys()
    assert read_arrays(path, checked=True).keys() == ARRAYS.keys()
    rewritten(path, lambda arrays: arrays.pop(CHECKSUM))
    for unchecked in (tmp_path / "old.npz", path):
        with pytest.raises(UserError, match=rf"{unchecked.name} has no checksum"):
            read_arrays(unchecked, checked=True)


@pytest.mark.parametrize(("umask", "mode"), [(0o077, 0o600), (0o002, 0o664), (0o022, 0o644)])
def test_files_keep_the_umask(tmp_path, umask, mode):
    before = os.umask(umask)
    try:
        write_arrays(tmp_path / "a.npz", ARRAYS)
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "a.npz").stat().st_mode) == mode
