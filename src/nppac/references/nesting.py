"""References inside references: the inner one's arrays under a prefix of the outer one's file."""

import tempfile
from pathlib import Path

import numpy as np

from nppac.references.base import Reference
from nppac.utils.files import read_arrays

Arrays = dict[str, np.ndarray]
MEAN = "mean_of_"
"""Prefix of the reference that a mean is taken from."""
SCALE = "scale_of_"
"""Prefix of the reference that a scale is taken from."""


def nested(prefix: str, inner: Reference) -> Arrays:
    """What `inner` would write to a file of its own, under a prefix."""
    with tempfile.TemporaryDirectory() as folder:
        inner.save(Path(folder) / "inner.npz")
        arrays = read_arrays(Path(folder) / "inner.npz")
    return {f"{prefix}{name}": array for name, array in arrays.items()}


def unnested(prefix: str, arrays: Arrays) -> Arrays:
    """The arrays that `nested` put under that prefix, by their own names."""
    return {
        name.removeprefix(prefix): array
        for name, array in arrays.items()
        if name.startswith(prefix)
    }
