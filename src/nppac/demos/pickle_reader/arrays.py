"""Arrays from the parts that a pickle describes them by, each checked before anything is allocated.

An array of numbers is a copy of bytes of the right length; an array of objects is a list. So no
bytes of a file are ever taken for the address of an object.
"""

import re
from math import prod

import numpy as np

from nppac.utils.errors import UserError
from nppac.utils.plain_arrays import MOST_DIMENSIONS, NotPlain, typed
from nppac.utils.text import shown

_PLAIN_DTYPE = re.compile(r"b1|[iu][1248]|f[248]|[SU][1-9]\d{0,4}")
_OBJECT_DTYPES = ("O", "O4", "O8")


class Room:
    """How much may still be built: as a file holds its data once, its length sets the bound."""

    def __init__(self, file_size: int) -> None:
        self._left = 4 * file_size + 2**16

    def take(self, size: int) -> None:
        """Claim room before anything is allocated."""
        self._left -= size
        if self._left < 0:
            raise UserError("its arrays would be far larger than the file itself.")


def make_dtype(_: Room, spec: object, align: object = False, copy: object = False) -> np.dtype:
    """What `numpy.dtype` is called with: booleans, integers, floats, strings or objects only."""
    if isinstance(spec, str) and spec in _OBJECT_DTYPES:
        return np.dtype(object)
    if not isinstance(spec, str) or not _PLAIN_DTYPE.fullmatch(spec):
        raise UserError(f"arrays of type {shown(spec)} are refused; only plain numbers are read.")
    return np.dtype(spec)


def with_byte_order(dtype: np.dtype, state: list[object]) -> np.dtype:
    """What a dtype's state says beyond its kind and size, for the dtypes that are read."""
    order = state[1] if len(state) > 1 else None
    if order not in ("<", ">", "|", "="):
        raise UserError(f"unknown byte order {shown(order)}.")
    return dtype.newbyteorder(order)


def raw_bytes(room: Room, data: object) -> bytes:
    """Bytes, or text that Python 2 kept them in."""
    if not isinstance(data, bytes | str):
        raise UserError(f"a {type(data).__name__} stands where the bytes of an array should.")
    room.take(len(data))
    return data.encode("latin1") if isinstance(data, str) else data


def make_array(room: Room, state: list[object]) -> object:
    """The array of a state as `ndarray` pickles it; a list if it is one of objects."""
    shape, dtype, fortran, data = state[-4:]
    if isinstance(dtype, np.dtype) and dtype.hasobject:
        return _objects(room, shape, data)
    return _numbers(room, shape, dtype, "F" if fortran else "C", data)


def from_buffer(
    room: Room, data: object, dtype: object, shape: object, order: object, axes: object = None
) -> object:
    """What NumPy's `_frombuffer` is called with, by which protocol 5 writes arrays."""
    array = _numbers(room, shape, dtype, order, data)
    if axes is None:
        return array
    if not isinstance(axes, tuple) or sorted(axes) != list(range(array.ndim)):
        raise UserError(f"{shown(axes)} is no order of an array's axes.")
    return array.transpose(axes)


def make_scalar(room: Room, dtype: object, data: object) -> object:
    """A NumPy number."""
    return _numbers(room, (1,), dtype, "C", data)[0]


def _objects(room: Room, shape: object, data: object) -> list[object]:
    """The entries, in lists of lists where there are more dimensions."""
    shape = _checked_shape(room, shape)
    if not isinstance(data, list):
        raise UserError(f"an array of object holds {type(data).__name__} data.")
    entries: list[object] = data
    _check_count(shape, len(entries), 1)
    room.take(len(entries) * len(shape))
    for size in reversed(shape[1:] if entries else ()):
        entries = [entries[i : i + size] for i in range(0, len(entries), size)]
    return entries


def _numbers(room: Room, shape: object, dtype: object, order: object, data: object) -> np.ndarray:
    shape = _checked_shape(room, shape)
    if not isinstance(dtype, np.dtype):
        raise UserError(f"{type(dtype).__name__} is not the type of an array.")
    if dtype.hasobject:
        raise UserError(f"an array of object holds {type(data).__name__} data.")
    raw = raw_bytes(room, data)
    _check_count(shape, len(raw), dtype.itemsize)
    return _copied(raw, dtype).reshape(shape, order="F" if order == "F" else "C")


def _checked_shape(room: Room, shape: object) -> tuple[int, ...]:
    if (
        not isinstance(shape, tuple)
        or len(shape) > MOST_DIMENSIONS
        or not all(map(_is_size, shape))
    ):
        raise UserError(f"{shown(shape)} is not the shape of an array.")
    # An array of 10^9 rows of nothing is still long for whoever goes through its rows.
    room.take(prod(max(size, 1) for size in shape))
    return shape


def _is_size(value: object) -> bool:
    return type(value) is int and value >= 0


def _check_count(shape: tuple[int, ...], found: int, unit: int) -> None:
    if found != unit * prod(shape):
        raise UserError(f"an array of shape {shape} holds {found} units of data.")


def _copied(raw: bytes, dtype: np.dtype) -> np.ndarray:
    try:
        return typed(np.frombuffer(raw, np.uint8).copy(), dtype)
    except NotPlain as error:
        raise UserError(f"an array is refused: {error}.") from error
