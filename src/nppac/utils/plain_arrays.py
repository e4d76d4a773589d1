"""Arrays of plain numbers and text from bytes: what an npy file holds, without NumPy's own parser.

NumPy evaluates a header as a Python literal and makes room for any shape that is told. Here a
header is matched against the one form that writers use, and its shape is checked against the bytes
that are there.
"""

import re
from math import prod
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np

from nppac.utils.text import brief, shown

MOST_DIMENSIONS = 32
_LONGEST_HEADER = 10_000
_LENGTH_BYTES = {(1, 0): 2, (2, 0): 4, (3, 0): 4}
_FIELD = r"'(descr|fortran_order|shape)'\s*:\s*('[^']{0,20}'|True|False|\([\dL, ]{0,400}\))"
_HEADER = re.compile(rf"\s*\{{\s*{_FIELD}\s*,\s*{_FIELD}\s*,\s*{_FIELD}\s*,?\s*\}}\s*")
_PLAIN = re.compile(r"[<>|=]?(b1|\?|[iu][1248]|f[248]|[SU]\d{1,8})")
_REFUSED = {
    "O": "Python objects, which only a pickle can hold",
    "c": "complex numbers",
    "M": "dates",
    "m": "time spans",
    "V": "records of several fields",
}
_LAST_CHARACTER = 0x10FFFF
_HALF_CHARACTERS = (0xD800, 0xDFFF)
_CHUNK = 2**20


@runtime_checkable
class Readable(Protocol):
    """A file, or a member of an archive."""

    def read(self, size: int = -1, /) -> bytes:
        """At most so many bytes."""
        ...


class NotPlain(ValueError):
    """Bytes that are no array of plain numbers or text."""


class NpyHeader(NamedTuple):
    """What the header of an npy file tells, with the number of bytes that it takes."""

    descr: str
    fortran: bool
    shape: tuple[int, ...]
    size: int


def read_header(stream: Readable) -> NpyHeader:
    """The header of an npy file at the stream's position."""
    magic = stream.read(8)
    if len(magic) < 8 or magic[:6] != b"\x93NUMPY":
        raise NotPlain("it does not begin as an npy file does")
    version = (magic[6], magic[7])
    if version not in _LENGTH_BYTES:
        raise NotPlain(f"npy version {version[0]}.{version[1]}; versions 1 to 3 are read")
    told = stream.read(_LENGTH_BYTES[version])
    length = int.from_bytes(told, "little")
    if len(told) < _LENGTH_BYTES[version] or length > _LONGEST_HEADER:
        raise NotPlain(f"a damaged npy header: its length is given as {length}")
    text = stream.read(length)
    if len(text) < length:
        raise NotPlain("a damaged npy header: the file ends in it")
    return _parsed(text.decode("latin1"), 8 + len(told) + length)


def _parsed(text: str, size: int) -> NpyHeader:
    match = _HEADER.fullmatch(text)
    parts = match.groups() if match else ()
    fields = dict(zip(parts[::2], parts[1::2], strict=True))
    if len(fields) < 3:
        hint = f": it holds {_REFUSED['V']}" if "[(" in text else ""
        raise NotPlain(f"a damaged npy header{hint}")
    descr, order, shape = fields["descr"], fields["fortran_order"], fields["shape"]
    if not descr.startswith("'") or order not in ("True", "False") or not shape.startswith("("):
        raise NotPlain("a damaged npy header")
    return NpyHeader(descr.strip("'"), order == "True", _shape(shape), size)


def _shape(text: str) -> tuple[int, ...]:
    sides = [side.strip().removesuffix("L") for side in text.strip("()").split(",")]
    sides = sides[:-1] if sides[-1] == "" else sides  # the comma after the last one
    if len(sides) > MOST_DIMENSIONS or not all(s.isdigit() and len(s) < 19 for s in sides):
        raise NotPlain(f"{shown(text)} is not the shape of an array")
    return tuple(map(int, sides))


def plain_dtype(descr: str) -> np.dtype:
    """The type of numbers or text that `descr` means; refuses every other."""
    if _PLAIN.fullmatch(descr):
        return np.dtype(descr)
    kind = descr.lstrip("<>|=")[:1]
    found = _REFUSED.get(kind, f"values of type {shown(descr)}")
    raise NotPlain(f"it holds {found}; only plain numbers and text are read")


def byte_count(header: NpyHeader, dtype: np.dtype) -> int:
    """Bytes of the array; one of 10^12 rows of nothing counts by its rows."""
    empty = 0 in header.shape or dtype.itemsize == 0
    if empty and prod(max(side, 1) for side in header.shape) > _CHUNK:
        raise NotPlain(f"{header.shape} is not the shape of an array")
    return prod(header.shape) * dtype.itemsize


def read_plain(stream: Readable, header: NpyHeader, dtype: np.dtype) -> np.ndarray:
    """The array after the header; its size has been checked."""
    count = byte_count(header, dtype)
    buffer, filled = np.empty(count, np.uint8), 0
    while filled < count:
        chunk = stream.read(min(_CHUNK, count - filled))
        if not chunk:
            raise NotPlain("the file ends in the middle of it")
        buffer[filled : filled + len(chunk)] = np.frombuffer(chunk, np.uint8)
        filled += len(chunk)
    return typed(buffer, dtype).reshape(header.shape, order="F" if header.fortran else "C")


def typed(raw: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """Bytes as numbers or text, without those that are none.

    NumPy relies on booleans of 0 and 1: it counts others wrongly and writes too far.
    """
    if dtype.itemsize == 0 or raw.size == 0:
        return np.empty(0, dtype)
    if dtype.kind == "b":
        return raw != 0
    if dtype.kind == "U":
        codes = raw.view(np.dtype("u4").newbyteorder(dtype.byteorder))
        first, last = _HALF_CHARACTERS
        if codes.max() > _LAST_CHARACTER or ((codes >= first) & (codes <= last)).any():
            raise NotPlain("it holds text with what is no character")
    return raw.view(dtype)


def explained(error: Exception) -> str:
    """What is wrong, in a few words."""
    return str(error) if isinstance(error, NotPlain) else brief(error)
