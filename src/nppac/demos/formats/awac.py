"""The AWAC release's format: an npy file whose object array holds one dict per episode."""

import io
import struct
import warnings
from pathlib import Path
from typing import BinaryIO

import numpy as np
from numpy.lib import format as npy

from nppac.demos.data import Demos
from nppac.demos.formats.paths import demos_from_paths
from nppac.demos.pickle_reader.load import brief, load_pickle
from nppac.utils.errors import UserError

# By version: how a header's length is written, and what parses it.
_HEADERS = {
    (1, 0): ("<H", npy.read_array_header_1_0),
    (2, 0): ("<I", npy.read_array_header_2_0),
}
_LONGEST_HEADER = 2**16


def read_awac(path: Path) -> Demos:
    """Read demonstrations from an npy file of dicts, executing nothing."""
    with path.open("rb") as file:
        dtype = _read_dtype(path, file)
        if dtype != np.dtype(object):
            raise UserError(
                f"{path} is a plain array of {str(dtype)[:60]}; expected an array of dicts with "
                "'observations' and 'actions'. Save both arrays as npz instead."
            )
        return demos_from_paths(path, load_pickle(file, str(path)))


def _read_dtype(path: Path, file: BinaryIO) -> np.dtype:
    try:
        length, parse = _HEADERS[npy.read_magic(file)]
        header = _read_header(file, length)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of headers that Python 2 wrote, and of odd literals
            _, _, dtype = parse(header)
    except KeyError as error:
        raise UserError(f"{path} is of npy version {error}; versions 1 and 2 are read.") from error
    except Exception as error:  # NumPy's parser lets through what Python's tokeniser raises
        raise UserError(f"{path} has a damaged npy header: {brief(error)}.") from error
    return dtype


def _read_header(file: BinaryIO, length: str) -> BinaryIO:
    """The header with its length in front: NumPy would make room for any length that is told."""
    told = file.read(struct.calcsize(length))
    (size,) = struct.unpack(length, told)
    if size > _LONGEST_HEADER:
        raise ValueError(f"its length is given as {size}")
    return io.BytesIO(told + file.read(size))
