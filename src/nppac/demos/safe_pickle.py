"""Read pickles of NumPy arrays and plain containers; refuse every other one.

A pickle is a program that may call whatever it can name. Here a name leads only to the stand-ins
below, which check what NumPy's own functions would believe: a forged dtype or a short list can make
NumPy read foreign memory, and `_codecs.encode` can import any codec.
"""

import io
import pickle
import pickletools
import re
from collections import OrderedDict
from typing import Any, BinaryIO

import numpy as np

from nppac.utils.errors import UserError

_PLAIN_DTYPE = re.compile(r"\?|[biufSU]\d+|O8?|O4")


def load_pickle(file: BinaryIO, name: str) -> Any:
    """The value pickled at the file's position; `name` is what errors call the file."""
    try:
        data = file.read()
        _check_sizes(data)
        # latin1 is how arrays that Python 2 pickled as text keep their bytes.
        return _Unpickler(io.BytesIO(data), encoding="latin1").load()
    except UserError as error:
        raise UserError(f"{name}: {error}") from error
    except RecursionError as error:
        raise UserError(f"{name} is nested too deeply to be demonstrations.") from error
    except Exception as error:  # a damaged pickle can raise nearly anything
        raise UserError(
            f"{name} cannot be read as a pickle: {error or type(error).__name__}. "
            "It may be damaged or incomplete; fetch or write it again."
        ) from error


def _check_sizes(data: bytes) -> None:
    """Refuse lengths and places that the data cannot have: the unpickler would allocate them."""
    for opcode, argument, _ in pickletools.genops(data):
        if opcode.name in ("PUT", "LONG_BINPUT") and int(argument or 0) > len(data):
            raise ValueError(f"entry {argument} in {len(data)} bytes")


class _DType:
    """Stands for `numpy.dtype`: booleans, integers, floats, strings and objects only."""

    def __init__(self, spec: Any, align: Any = False, copy: Any = False) -> None:
        if not isinstance(spec, str) or not _PLAIN_DTYPE.fullmatch(spec):
            raise UserError(f"arrays of type {spec!r} are refused; only plain numbers are read.")
        self._dtype = np.dtype("O" if spec.startswith("O") else spec)

    def __setstate__(self, state: tuple) -> None:
        if state[1] not in ("<", ">", "|", "="):
            raise UserError(f"unknown byte order {state[1]!r}.")
        self._dtype = self._dtype.newbyteorder(state[1])

    def resolve(self) -> np.dtype:
        """The dtype that the checked description stands for."""
        return self._dtype


class _Array(np.ndarray):
    """Stands for `numpy.ndarray`: filled only when size, type and contents agree."""

    def __setstate__(self, state: tuple, /) -> None:
        shape, dtype, fortran, data = state[-4:]
        shape, real = _checked_shape(shape), _resolve(dtype)
        expected = list if real.hasobject else (bytes, str)
        if not isinstance(data, expected):
            raise UserError(f"an array of {real} holds {type(data).__name__} data.")
        if isinstance(data, str):
            data = data.encode("latin1")
        unit = 1 if real.hasobject else real.itemsize
        if len(data) != unit * int(np.prod(shape, dtype=object)):
            raise UserError(f"an array of shape {shape} holds {len(data)} units of data.")
        filled: Any = (1, shape, real, bool(fortran), data)  # NumPy's stub asks for its own bool
        super().__setstate__(filled)


def _checked_shape(shape: Any) -> tuple[int, ...]:
    if not isinstance(shape, tuple) or not all(type(n) is int and n >= 0 for n in shape):
        raise UserError(f"{shape!r} is not the shape of an array.")
    return shape


def _resolve(dtype: Any) -> np.dtype:
    if not isinstance(dtype, _DType):
        raise UserError(f"{type(dtype).__name__} is not the type of an array.")
    return dtype.resolve()


def _reconstruct(subtype: Any, shape: Any, typecode: Any) -> np.ndarray:
    return np.ndarray.__new__(_Array, (0,), np.int8)


def _frombuffer(buffer: Any, dtype: Any, shape: Any, order: Any, axes: Any = None) -> np.ndarray:
    flat = np.frombuffer(buffer, dtype=_resolve(dtype))
    if axes is not None:
        return flat.reshape(_checked_shape(shape)).transpose(axes)
    return flat.reshape(_checked_shape(shape), order="F" if order == "F" else "C")


def _scalar(dtype: Any, data: Any = b"") -> Any:
    raw = data.encode("latin1") if isinstance(data, str) else data
    return np.frombuffer(raw, dtype=_resolve(dtype), count=1)[0]


def _encode(text: Any, encoding: Any = "utf-8") -> bytes:
    """Stands for `_codecs.encode`, by which Python 3 writes bytes into old pickle protocols."""
    if encoding not in ("latin1", "latin-1"):
        raise UserError(f"refused to encode with {encoding!r}.")
    return str.encode(text, "latin1")


def _empty_bytes() -> bytes:
    """Stands for `bytes`, which old protocols call for an empty array; a size it must not take."""
    return b""


_ADMITTED = {
    ("numpy", "ndarray"): _Array,
    ("numpy", "dtype"): _DType,
    ("_codecs", "encode"): _encode,
    ("collections", "OrderedDict"): OrderedDict,
    ("__builtin__", "bytes"): _empty_bytes,
    ("builtins", "bytes"): _empty_bytes,
    **{(m, t.__name__): t for m in ("builtins", "__builtin__") for t in (set, frozenset)},
    # NumPy 2 renamed `numpy.core`; files of both ages exist.
    **{
        (f"numpy.{core}.{module}", name): stand_in
        for core in ("core", "_core")
        for module, name, stand_in in (
            ("multiarray", "_reconstruct", _reconstruct),
            ("multiarray", "scalar", _scalar),
            ("numeric", "_frombuffer", _frombuffer),
        )
    },
}


class _Unpickler(pickle.Unpickler):
    def find_class(self, module_name: str, global_name: str, /) -> Any:
        try:
            return _ADMITTED[module_name, global_name]
        except KeyError:
            raise UserError(
                f"refused '{module_name}.{global_name}': demonstrations may hold NumPy arrays and "
                "plain containers only, and a pickle that asks for more could run a program. "
                "Convert the file to npz where you trust it."
            ) from None
