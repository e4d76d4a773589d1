"""The AWAC release's format: an npy file whose object array holds one dict per episode."""

from pathlib import Path
from typing import BinaryIO

import numpy as np
from numpy.lib import format as npy

from nppac.demos.data import Demos
from nppac.demos.formats.paths import demos_from_paths
from nppac.demos.safe_pickle import load_pickle
from nppac.utils.errors import UserError

_HEADERS = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}


def read_awac(path: Path) -> Demos:
    """Read demonstrations from an npy file of dicts, executing nothing."""
    with path.open("rb") as file:
        dtype = _read_dtype(path, file)
        if dtype != np.dtype(object):
            raise UserError(
                f"{path} is a plain array of {dtype}; expected an array of dicts with "
                "'observations' and 'actions'. Save both arrays as npz instead."
            )
        return demos_from_paths(path, load_pickle(file, str(path)))


def _read_dtype(path: Path, file: BinaryIO) -> np.dtype:
    try:
        version = npy.read_magic(file)
        _, _, dtype = _HEADERS[version](file)
    except KeyError as error:
        raise UserError(f"{path} is of npy version {error}; versions 1 and 2 are read.") from error
    except Exception as error:  # NumPy's parser lets through what Python's tokeniser raises
        raise UserError(f"{path} has a damaged npy header: {error}.") from error
    return dtype
