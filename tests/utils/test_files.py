import errno
import json
import os
import resource
import stat

import numpy as np
import pytest

from nppac.evaluation.metrics import load_metrics
from nppac.utils.errors import UserError
from nppac.utils.files import (
    TEMPORARY,
    read_arrays,
    read_json,
    remove_leftovers,
    write_arrays,
    write_atomically,
    write_json,
)
from nppac.utils.yaml_reader import read_yaml


def names(directory):
    return sorted(path.name for path in directory.iterdir())


def full_disk(*_):
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


class Full:
    """A file on a full disk, half of whose bytes still found room."""

    def __init__(self, file):
        self.file = file

    def __getattr__(self, name):
        return getattr(self.file, name)

    def write(self, data):
        self.file.write(bytes(data)[: len(data) // 2])
        full_disk()


def test_json_and_arrays_come_back(tmp_path):
    write_json(tmp_path / "new" / "a.json", {"b": [1, None], "a": "ü"})
    assert read_json(tmp_path / "new" / "a.json") == {"b": [1, None], "a": "ü"}
    arrays = {"x": np.arange(6.0).reshape(2, 3), "kind": np.asarray("gp"), "n": np.array(3)}
    for compress in (False, True):
        write_arrays(tmp_path / "a.npz", arrays, compress=compress)
        found = read_arrays(tmp_path / "a.npz")
        assert found.keys() == arrays.keys()
        for name, array in arrays.items():
            np.testing.assert_array_equal(found[name], array)
    assert names(tmp_path) == ["a.npz", "new"]
    assert stat.S_IMODE((tmp_path / "a.npz").stat().st_mode) == 0o644


def test_a_file_that_was_kept_by_a_failed_write_is_kept_again_without_leftovers(tmp_path):
    path, keep = tmp_path / "a.npz", tmp_path / "a.previous.npz"
    write_arrays(path, {"x": np.zeros(1)})
    os.link(path, keep)  # what a write leaves that fails between its two renames
    write_arrays(path, {"x": np.ones(1)}, keep=keep)
    assert names(tmp_path) == ["a.npz", "a.previous.npz"]
    assert [read_arrays(p)["x"].item() for p in (path, keep)] == [1.0, 0.0]


@pytest.mark.parametrize("call", ["fsync", "replace"])
def test_a_disk_that_fills_at_the_end_leaves_the_old_file(tmp_path, monkeypatch, call):
    write_json(tmp_path / "a.json", "old")
    monkeypatch.setattr(os, call, full_disk)
    with pytest.raises(UserError, match=r"a\.json: No space left on device.*free some space"):
        write_json(tmp_path / "a.json", "new")
    assert read_json(tmp_path / "a.json") == "old"
    assert names(tmp_path) == ["a.json"]


def test_a_disk_that_fills_in_the_middle_leaves_the_old_file(tmp_path):
    write_arrays(tmp_path / "a.npz", {"x": np.zeros(3)})
    with pytest.raises(UserError, match="No space left"):
        write_atomically(tmp_path / "a.npz", lambda file: np.savez(Full(file), x=np.ones(10_000)))
    np.testing.assert_array_equal(read_arrays(tmp_path / "a.npz")["x"], np.zeros(3))
    assert names(tmp_path) == ["a.npz"]


def test_what_the_system_refuses_leaves_the_old_file(tmp_path):
    write_arrays(tmp_path / "a.npz", {"x": np.zeros(3)})
    _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (2_000, hard))  # as a quota would
    try:
        with pytest.raises(UserError, match="File too large"):
            write_arrays(tmp_path / "a.npz", {"x": np.ones(10_000)})
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
    np.testing.assert_array_equal(read_arrays(tmp_path / "a.npz")["x"], np.zeros(3))
    assert names(tmp_path) == ["a.npz"]


def test_any_other_failure_cleans_up_and_is_not_disguised(tmp_path):
    def stop(file):
        file.write(b"half")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_atomically(tmp_path / "a", stop)
    assert names(tmp_path) == []


def test_a_place_that_cannot_be_written_is_named(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match=r"Cannot write .*file/a\.json"):
        write_json(tmp_path / "file" / "a.json", 1)


def test_what_killed_writers_left_is_removed_and_nothing_else(tmp_path):
    write_json(tmp_path / "a.json", 1)
    (tmp_path / ".keep").write_text("")
    written = []
    write_atomically(tmp_path / "b", lambda file: written.append(os.path.basename(file.name)))
    assert written[0].startswith(".b.")
    (tmp_path / f".b.x1{TEMPORARY}").write_text("half")
    assert written[0].endswith(TEMPORARY)
    remove_leftovers(tmp_path)
    assert names(tmp_path) == [".keep", "a.json", "b"]


def test_objects_are_never_pickled(tmp_path):
    with pytest.raises(TypeError, match="'x' holds Python objects"):
        write_arrays(tmp_path / "a.npz", {"x": np.array([{}])})
    assert names(tmp_path) == []
    with (tmp_path / "evil.npz").open("wb") as file:
        np.savez(file, x=np.array([{}]))
    with pytest.raises(UserError, match=r"evil\.npz"):
        read_arrays(tmp_path / "evil.npz")


def test_what_cannot_be_read_is_named(tmp_path):
    for read in (read_json, read_arrays):
        with pytest.raises(UserError, match=r"no file .*absent"):
            read(tmp_path / "absent")
        with pytest.raises(UserError, match=str(tmp_path)):
            read(tmp_path)
    (tmp_path / "broken").write_text('{"a": ')
    for read in (read_json, read_arrays):
        with pytest.raises(UserError, match="broken"):
            read(tmp_path / "broken")


def test_a_pipe_is_not_waited_for_and_a_device_not_read_to_its_end(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to("/dev/zero")
    for read in (read_json, read_arrays, load_metrics, read_yaml):
        for name in ("pipe", "link"):
            with pytest.raises(UserError, match=f"{name} is no regular file"):
                read(tmp_path / name)


def test_a_cut_archive_is_named(tmp_path):
    write_arrays(tmp_path / "a.npz", {"x": np.arange(1000)})
    whole = (tmp_path / "a.npz").read_bytes()
    (tmp_path / "a.npz").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(UserError, match=r"a\.npz"):
        read_arrays(tmp_path / "a.npz")


def test_json_is_for_people(tmp_path):
    write_json(tmp_path / "a.json", {"b": 1, "a": 2})
    text = (tmp_path / "a.json").read_text()
    assert text == '{\n  "b": 1,\n  "a": 2\n}\n'
    assert json.loads(text) == {"b": 1, "a": 2}
