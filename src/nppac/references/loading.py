"""Reads any reference back from its file."""

from collections.abc import Callable
from pathlib import Path

import numpy as np

from nppac.references.base import Reference
from nppac.references.custom import CustomReference
from nppac.references.fixed import ConstantVarianceReference, UniformReference
from nppac.references.gp.posterior import GPReference
from nppac.references.mixed import MixedReference
from nppac.references.nesting import MEAN, SCALE, unnested
from nppac.references.neural.dropout import DropoutReference
from nppac.references.neural.ensemble import EnsembleReference
from nppac.references.neural.network import NetworkReference
from nppac.utils.errors import UserError, unknown_name
from nppac.utils.files import read_arrays

Arrays = dict[str, np.ndarray]


def _constant_variance(arrays: Arrays) -> Reference:
    inner = from_arrays(unnested(MEAN, arrays))
    return ConstantVarianceReference(inner, float(arrays["variance"]))


def _mixed(arrays: Arrays) -> Reference:
    return MixedReference(from_arrays(unnested(MEAN, arrays)), from_arrays(unnested(SCALE, arrays)))


LOADERS: dict[str, Callable[[Arrays], Reference]] = {
    "gp": GPReference.from_arrays,
    "network": NetworkReference.from_arrays,
    "ensemble": EnsembleReference.from_arrays,
    "dropout": DropoutReference.from_arrays,
    "uniform": UniformReference.from_arrays,
    "constant_variance": _constant_variance,
    "mixed": _mixed,
    "custom": CustomReference.from_arrays,
}
"""How to rebuild each kind of reference from the arrays that its `save` wrote."""


def from_arrays(arrays: Arrays) -> Reference:
    """The reference that these arrays describe; their `kind` says which it is."""
    kind = str(arrays.get("kind", ""))
    if kind not in LOADERS:
        raise unknown_name("kind of reference", kind, LOADERS)
    return LOADERS[kind](arrays)


def load_reference(path: str | Path, trusted: str | None = None) -> Reference:
    """Read the reference that `Reference.save` wrote to `path`.

    Where it is a user's function, that is imported only if the caller names it as `trusted`.
    """
    arrays = read_arrays(path)
    if "kind" not in arrays:
        raise UserError(f"{path} holds no reference policy. Give a file that `fit` wrote.")
    try:
        if str(arrays["kind"]) == "custom":
            return CustomReference.from_arrays(arrays, trusted)
        return from_arrays(arrays)
    except (KeyError, TypeError, ValueError) as error:
        raise UserError(
            f"{path} does not hold a complete reference ({error}). Fit it again."
        ) from error
