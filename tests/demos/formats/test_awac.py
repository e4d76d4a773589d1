import io
import os

import numpy as np
import pytest

from nppac.demos import load_demos, validate
from nppac.utils.errors import UserError

from ..samples import assert_same, make_demos, write_awac


def test_reads_dicts_of_state_observations(tmp_path):
    demos = load_demos(write_awac(tmp_path / "d.npy", make_demos()))
    assert [len(e.rewards) for e in demos.episodes if e.rewards is not None] == [5, 4]
    found, notes = validate(demos)
    assert_same(found, make_demos())
    assert notes == ["Dropped the last of the rewards in 2 episodes (0, 1): one more than actions."]


def test_terminals_end_an_episode(tmp_path):
    paths = np.empty(1, object)
    paths[0] = {
        "observations": [{"observation": [1.0]}, {"observation": [2.0]}],
        "actions": [[0.0], [0.5]],
        "terminals": np.array([[0.0], [1.0]]),
    }
    np.save(tmp_path / "d.npy", paths, allow_pickle=True)
    (episode,) = load_demos(tmp_path / "d.npy").episodes
    assert episode.terminated
    assert episode.rewards is None
    assert episode.observations.tolist() == [[1.0], [2.0]]


class Payload:
    def __init__(self, command):
        self.command = command

    def __reduce__(self):
        return os.system, (self.command,)


def test_payload_is_refused_and_not_run(tmp_path):
    mark = tmp_path / "executed"
    np.save(tmp_path / "d.npy", np.array([Payload(f"touch {mark}")]), allow_pickle=True)
    with pytest.raises(UserError, match=r"d\.npy: refused '(posix|nt)\.system'"):
        load_demos(tmp_path / "d.npy")
    assert not mark.exists()


def npy_bytes(array) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, array, allow_pickle=True)
    return buffer.getvalue()


def long_header(text: bytes) -> bytes:
    return b"\x93NUMPY\x02\x00" + len(text).to_bytes(4, "little") + text


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (npy_bytes(np.zeros((5, 3))), "is a plain array of type <f8"),
        (npy_bytes(np.array([None]))[:-3], "cannot be read as a pickle"),
        (b"\x93NUMPY\x01\x00\x10", "damaged npy header"),
        (b"\x93NUMPY\x01\x00\x10\x00{'descr': '|O, (\n", "damaged npy header"),
        (b"\x93NUMPY\x09\x00\x10\x00", "npy version 9.0"),
        (b"\x93NUMPY\x02\x00\xff\xff\xff\xff", "its length is given as 4294967295"),
        (long_header(b"[" * 9000), "damaged npy header"),
        (long_header(b"-" * 9000 + b"1"), "damaged npy header"),
        (long_header(b"1+" * 4000 + b"1j"), "damaged npy header"),
        (long_header(b"9" * 9000), "damaged npy header"),
        (long_header(b"{" + b"'a':1," * 9000 + b"}"), "damaged npy header"),
    ],
)
def test_other_contents_are_the_users_error(tmp_path, data, message):
    (tmp_path / "d.npy").write_bytes(data)
    with pytest.raises(UserError) as caught:
        load_demos(tmp_path / "d.npy")
    assert message in str(caught.value)
    assert str(caught.value).isprintable()
    assert len(str(caught.value)) < 500
