"""All references that have a name, and all kinds of their files, as their modules register them.

A file that defines a reference registers it, so that this one never changes:

    register_reference(ReferenceKind("mine", "What it is.", fit, steps))
    register_loader(MyReference)
"""

from collections.abc import Callable
from typing import Literal, NamedTuple

import numpy as np

from nppac.references.base import Arrays, Reference
from nppac.references.gp.config import GPConfig
from nppac.references.neural.config import NetworkConfig
from nppac.utils.errors import unknown_name
from nppac.utils.progress import Advance


class FitSettings(NamedTuple):
    """The settings of both kinds of fit; a reference takes what it needs."""

    gp: GPConfig
    network: NetworkConfig


class ReferenceKind(NamedTuple):
    """A reference that is fitted by its name; `fit` counts its progress up to `steps`."""

    name: str
    description: str
    fit: Callable[[np.ndarray, np.ndarray, FitSettings, Advance], Reference]
    steps: Callable[[FitSettings], int]
    uses: tuple[Literal["gp", "network"], ...] = ("gp", "network")
    """The settings that decide the fit: it is made again where these change."""


REFERENCES: dict[str, ReferenceKind] = {}
"""Beside these, `mixed:MEAN+SCALE` joins two of them and `module:name` is the user's own."""
LOADERS: dict[str, Callable[[Arrays], Reference]] = {}
"""How to rebuild each kind of reference from the arrays of its file."""


def register_reference(kind: ReferenceKind) -> None:
    """Make a reference known by its name."""
    assert kind.name not in REFERENCES, f"two references are called '{kind.name}'"
    REFERENCES[kind.name] = kind


def register_loader(reference: type[Reference]) -> None:
    """Make the files of a class of references readable."""
    assert reference.kind not in LOADERS, f"two kinds of file are called '{reference.kind}'"
    LOADERS[reference.kind] = reference.from_arrays


def get_kind(name: str) -> ReferenceKind:
    """The reference of that name, or an error with the nearest name."""
    if name not in REFERENCES:
        raise unknown_name("reference", name, REFERENCES)
    return REFERENCES[name]


def reference_from_arrays(arrays: Arrays) -> Reference:
    """The reference that these arrays describe; their `kind` says which it is."""
    kind = str(arrays.get("kind", ""))
    if kind not in LOADERS:
        raise unknown_name("kind of reference", kind, LOADERS)
    return LOADERS[kind](arrays)
