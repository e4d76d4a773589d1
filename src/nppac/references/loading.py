"""Reads any reference back from its file."""

from collections.abc import Callable
from pathlib import Path

import numpy as np

from nppac.errors import UserError, unknown_name
from nppac.files import read_arrays
from nppac.references.base import Reference
from nppac.references.fixed import ConstantVarianceReference, UniformReference, inner_arrays
from nppac.references.gp import GPReference

Arrays = dict[str, np.ndarray]


def _constant_variance(arrays: Arrays) -> Reference:
    return ConstantVarianceReference(from_arrays(inner_arrays(arrays)), float(arrays["variance"]))


LOADERS: dict[str, Callable[[Arrays], Reference]] = {
    "gp": GPReference.from_arrays,
    "uniform": UniformReference.from_arrays,
    "constant_variance": _constant_variance,
}
"""How to rebuild each kind of reference from the arrays that its `save` wrote."""


def from_arrays(arrays: Arrays) -> Reference:
    """The reference that these arrays describe; their `kind` says which it is."""
    kind = str(arrays.get("kind", ""))
    if kind not in LOADERS:
        raise unknown_name("kind of reference", kind, LOADERS)
    return LOADERS[kind](arrays)


def load_reference(path: str | Path) -> Reference:
    """Read the reference that `Reference.save` wrote to `path`."""
    arrays = read_arrays(path)
    if "kind" not in arrays:
        raise UserError(f"{path} holds no reference policy. Give a file that `fit` wrote.")
    try:
        return from_arrays(arrays)
    except (KeyError, TypeError, ValueError) as error:
        raise UserError(
            f"{path} does not hold a complete reference ({error}). Fit it again."
        ) from error
