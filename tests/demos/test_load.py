from pathlib import Path

import pytest

from nppac.demos import convert, is_embedded, load_demos
from nppac.utils.errors import UserError

from .samples import (
    assert_same,
    d4rl_columns,
    make_demos,
    write_awac,
    write_d4rl,
    write_dapg,
    write_npz,
)

WRITERS = {
    "npz": write_npz,
    "dapg": write_dapg,
    "awac": write_awac,
    "d4rl": lambda path, demos: write_d4rl(path, d4rl_columns(demos)),
}


@pytest.mark.parametrize("suffix", [".npz", ".pickle", ".npy", ".hdf5", ""])
@pytest.mark.parametrize("kind", WRITERS)
def test_contents_decide_and_not_the_extension(tmp_path, kind, suffix):
    path = WRITERS[kind](tmp_path / f"misleading{suffix}", make_demos())
    demos = load_demos(str(path))
    assert demos.obs.tolist() == make_demos().obs.tolist()
    assert demos.actions.tolist() == make_demos().actions.tolist()


@pytest.mark.parametrize("kind", WRITERS)
def test_convert_writes_clean_npz(tmp_path, kind):
    source = WRITERS[kind](tmp_path / "in", make_demos())
    notes = convert(source, tmp_path / "out.npz")
    assert len(notes) == (1 if kind == "awac" else 0)
    found = load_demos(tmp_path / "out.npz")
    assert found.actions.tolist() == make_demos().actions.tolist()
    assert [len(e.rewards) for e in found.episodes if e.rewards is not None] == [4, 3]


def test_convert_onto_itself(tmp_path):
    path = write_npz(tmp_path / "d.npz", make_demos())
    assert convert(path, path) == []
    assert_same(load_demos(path), make_demos())


@pytest.mark.parametrize("kind", WRITERS)
@pytest.mark.parametrize("keep", [0.3, 0.9])
def test_truncated_files_are_the_users_error(tmp_path, kind, keep):
    path = WRITERS[kind](tmp_path / "d", make_demos())
    data = path.read_bytes()
    path.write_bytes(data[: int(len(data) * keep)])
    with pytest.raises(UserError, match=str(path)):
        load_demos(path)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "is empty"),
        (b"a,b\n1,2\n", "in no known format (expected npz, a Minari dataset"),
        (b"\x1f\x8b\x08", "unpack it first"),
        (b"version https://git-lfs.github.com/spec/v1\n", "git lfs pull"),
        (b"<!DOCTYPE html>", "download may have failed"),
        (b"PK\x05\x06" + b"\0" * 18, "holds nothing"),
    ],
)
def test_other_contents(tmp_path, data, message):
    path = tmp_path / "d.npz"
    path.write_bytes(data)
    with pytest.raises(UserError) as caught:
        load_demos(path)
    assert message in str(caught.value)
    assert str(path) in str(caught.value)


def test_directory(tmp_path):
    with pytest.raises(UserError, match="is a directory without a Minari dataset"):
        load_demos(tmp_path)


def test_missing_file(tmp_path):
    with pytest.raises(UserError, match="there is no such file"):
        load_demos(tmp_path / "none.npz")


@pytest.mark.parametrize("name", ["\0", "x" * 5000, ""])
def test_impossible_names(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UserError):
        load_demos(name)


@pytest.mark.parametrize("method", ["exists", "open"])
def test_permission_denied(tmp_path, monkeypatch, method):
    path = write_npz(tmp_path / "d.npz", make_demos())

    def deny(*args, **kwargs):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, method, deny)
    with pytest.raises(UserError, match=r"Cannot read .*d\.npz: Permission denied"):
        load_demos(path)


def test_a_directory_of_other_things_does_not_hide_an_embedded_set(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "door").mkdir()
    assert is_embedded("door")
    assert load_demos("door").obs_dim == 39
    demos = make_demos()
    (tmp_path / "door").rmdir()
    write_npz(tmp_path / "door", demos)  # but a file of that name does
    assert not is_embedded("door")
    assert_same(load_demos("door"), demos)
