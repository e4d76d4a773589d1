"""References in files, and references inside the files of others."""

from pathlib import Path

from nppac.references.base import Arrays, Reference, named_arrays
from nppac.references.registry import reference_from_arrays
from nppac.utils.errors import UserError
from nppac.utils.files import read_arrays


def nested(prefix: str, inner: Reference) -> Arrays:
    """What a file of `inner` would hold, under a prefix."""
    return {f"{prefix}{name}": array for name, array in named_arrays(inner).items()}


def unnested(prefix: str, arrays: Arrays) -> Arrays:
    """The arrays that `nested` put under that prefix, by their own names."""
    return {
        name.removeprefix(prefix): array
        for name, array in arrays.items()
        if name.startswith(prefix)
    }


def nested_reference(prefix: str, arrays: Arrays) -> Reference:
    """The reference that `nested` put under that prefix."""
    return reference_from_arrays(unnested(prefix, arrays))


def read_reference_file(path: str | Path) -> Arrays:
    """The arrays of a reference's file."""
    arrays = read_arrays(path, checked=True)
    if "kind" not in arrays:
        raise UserError(f"{path} holds no reference policy. Give a file that `fit` wrote.")
    return arrays
