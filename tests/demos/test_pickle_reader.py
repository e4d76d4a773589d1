import io
import os
import pickle
from collections import OrderedDict

import numpy as np
import pytest

from nppac.demos.pickle_reader.load import load_pickle
from nppac.utils.errors import UserError


def load(data: bytes):
    return load_pickle(io.BytesIO(data), "file.pickle")


class Call:
    """Pickles into a call of `function`."""

    def __init__(self, function, *args, state=None):
        self.reduced = (function, args) if state is None else (function, args, state)

    def __reduce__(self):
        return self.reduced


ARRAYS = [
    np.arange(6.0).reshape(2, 3),
    np.asfortranarray(np.arange(6.0).reshape(2, 3)),
    np.arange(24, dtype=np.int16).reshape(2, 3, 4).transpose(1, 0, 2),
    np.array([True, False]),
    np.array(["door", "pen"]),
    np.arange(3, dtype=">f4"),
    np.zeros((0, 3)),
    np.array(2.5),
    np.arange(3, dtype=np.float16),
    np.arange(3, dtype=">u8"),
]


@pytest.mark.parametrize("protocol", range(6))
@pytest.mark.parametrize("array", ARRAYS, ids=lambda a: f"{a.dtype}{a.shape}")
def test_arrays_of_every_protocol(array, protocol):
    found = load(pickle.dumps(array, protocol=protocol))
    assert type(found) is np.ndarray
    np.testing.assert_array_equal(found, array)
    assert found.shape == array.shape
    assert found.dtype == array.dtype
    assert found.flags.writeable


@pytest.mark.parametrize("protocol", range(6))
def test_arrays_of_objects_are_lists(protocol):
    pair = np.array([{"a": 1}, None], dtype=object)
    assert load(pickle.dumps(pair, protocol=protocol)) == [{"a": 1}, None]
    table = np.arange(6).astype(object).reshape(2, 3)
    assert load(pickle.dumps(table, protocol=protocol)) == table.tolist()
    assert load(pickle.dumps(table.T, protocol=protocol)) == table.T.tolist()
    alone = np.array(None, dtype=object)
    assert load(pickle.dumps(alone, protocol=protocol)) == [None]
    assert load(pickle.dumps(np.empty((3, 0), object), protocol=protocol)) == []


@pytest.mark.parametrize("protocol", range(6))
def test_realistic_episodes(protocol):
    rng = np.random.default_rng(0)
    shared = rng.normal(size=3)
    episodes = [
        {
            "observations": [{"observation": rng.normal(size=3), "goal": shared} for _ in range(4)],
            "actions": rng.normal(size=(4, 2)).astype(np.float32),
            "rewards": [0.5, 1.0, np.float64(2.0), np.int64(3)],
            "terminals": np.array([False, False, False, True]),
            "columns": np.asfortranarray(rng.normal(size=(4, 2))),
            "infos": {"steps": np.arange(4), "done": np.bool_(True), b"raw": b"\x00\xff", 1: ""},
        }
        for _ in range(2)
    ]
    found = load(pickle.dumps(episodes, protocol=protocol))
    np.testing.assert_equal(found, episodes)
    assert [type(reward) for reward in found[0]["rewards"]] == [float, float, np.float64, np.int64]
    assert found[0]["columns"].flags.f_contiguous
    first, second = found[0]["observations"][:2]
    assert first["goal"] is second["goal"]  # shared in the file, so built once


@pytest.mark.parametrize("protocol", range(6))
def test_plain_containers_and_scalars(protocol):
    value = {"a": [1, 2.5, None, True], "b": ("x", b"y\xff"), "c": {3}, "d": OrderedDict(e=1)}
    assert load(pickle.dumps(value, protocol=protocol)) == value
    assert load(pickle.dumps(np.float32(3.5), protocol=protocol)) == 3.5


@pytest.mark.parametrize("core", [b"numpy.core", b"numpy._core"])
def test_both_names_of_numpys_core(core):
    data = pickle.dumps(np.arange(3), protocol=2)
    assert b"numpy._core" in data
    assert load(data.replace(b"numpy._core", core)).tolist() == [0, 1, 2]


def test_array_that_python_2_pickled_as_text():
    raw = np.array([1.5, -2.0]).tobytes()
    data = (
        b"\x80\x02cnumpy.core.multiarray\n_reconstruct\ncnumpy\nndarray\nK\x00\x85U\x01b\x87R"
        b"(K\x01K\x02\x85cnumpy\ndtype\nU\x02f8K\x00K\x01\x87R"
        b"(K\x03U\x01<NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tb\x89U\x10" + raw + b"tb."
    )
    assert load(data).tolist() == [1.5, -2.0]


@pytest.mark.parametrize("protocol", range(6))
def test_os_system_is_refused_and_not_run(tmp_path, protocol):
    mark = tmp_path / "executed"
    data = pickle.dumps([Call(os.system, f"touch {mark}")], protocol=protocol)
    with pytest.raises(UserError, match=r"file\.pickle: refused '(posix|nt)\.system'"):
        load(data)
    assert not mark.exists()


@pytest.mark.parametrize("function", [eval, getattr, np.load, np.fromfile])
def test_other_globals_are_refused_by_name(function):
    with pytest.raises(UserError, match=rf"refused '[\w.]+\.{function.__name__}'"):
        load(pickle.dumps(Call(function, "x")))


def test_codecs_encode_is_only_for_bytes():
    import _codecs

    assert load(pickle.dumps(Call(_codecs.encode, "\xff", "latin1"))) == b"\xff"
    with pytest.raises(UserError, match="refused to encode with 'rot13'"):
        load(pickle.dumps(Call(_codecs.encode, "os", "rot13")))


def forged_array(shape: tuple, dtype: object, data: object) -> bytes:
    reconstruct = np.zeros(1).__reduce__()[0]
    state = (1, shape, dtype, False, data)
    return pickle.dumps(Call(reconstruct, np.ndarray, (0,), b"b", state=state))


def test_list_shorter_than_its_object_array_is_refused():
    assert load(forged_array((1,), np.dtype("O"), ["x"])) == ["x"]
    with pytest.raises(UserError, match=r"shape \(9,\) holds 1 units"):
        load(forged_array((9,), np.dtype("O"), ["x"]))


# A dtype of objects whose flags deny it.
FLAGLESS = Call(np.dtype, "O", False, True, state=(3, "|", None, None, None, -1, -1, 0))
ADDRESSES = b"\x01" * 8
FROM_BUFFER = np.zeros(1).__reduce_ex__(5)[0]
SCALAR = np.float64(0).__reduce__()[0]


@pytest.mark.parametrize(
    "data",
    [
        forged_array((1,), np.dtype("O"), ADDRESSES),
        forged_array((1,), FLAGLESS, ADDRESSES),
        *(
            pickle.dumps(Call(*parts))
            for dtype in (np.dtype("O"), FLAGLESS, "O")
            for parts in (
                (np.ndarray, (1,), dtype, ADDRESSES),
                (np.ndarray, (1,), dtype, bytearray(ADDRESSES)),
                (FROM_BUFFER, ADDRESSES, dtype, (1,), "C"),
                (FROM_BUFFER, bytearray(ADDRESSES), dtype, (1,), "C"),
                (FROM_BUFFER, np.array([None]), np.dtype("u8"), (1,), "C"),
                (SCALAR, dtype, ADDRESSES),
            )
        ),
    ],
)
def test_bytes_become_object_pointers_by_no_call(data):
    with pytest.raises(UserError, match=r"file\.pickle"):
        load(data)


def test_booleans_are_0_or_1_whatever_their_bytes():
    found = load(forged_array((4,), np.dtype("?"), b"\x00\x01\x02\xff"))
    assert found.view(np.uint8).tolist() == [0, 1, 1, 1]


def test_only_small_whole_numbers_and_text_are_keys():
    assert load(pickle.dumps({1: 2, "a": 3, b"b": 4})) == {1: 2, "a": 3, b"b": 4}
    for key in (2**40, 1.5, None, (1,), True, np.int64(1)):
        with pytest.raises(UserError, match="refused the key"):
            load(pickle.dumps({key: 1}))


@pytest.mark.parametrize("shape", [(-1,), [2], (2.0,)])
def test_odd_shapes_are_refused(shape):
    with pytest.raises(UserError, match="is not the shape of an array"):
        load(forged_array(shape, np.dtype("f8"), b"\0" * 16))


def test_structured_arrays_are_refused():
    with pytest.raises(UserError, match="arrays of type 'V8' are refused"):
        load(pickle.dumps(np.zeros(1, dtype=[("a", "f8")]), protocol=2))


def test_truncated_pickle_is_the_users_error():
    data = pickle.dumps([np.arange(100.0)])
    for end in (2, len(data) // 2, len(data) - 1):
        with pytest.raises(UserError, match="cannot be read as a pickle"):
            load(data[:end])


def test_size_given_to_bytes_is_refused():
    with pytest.raises(UserError, match="cannot be read as a pickle"):
        load(pickle.dumps(Call(bytes, 10)))
