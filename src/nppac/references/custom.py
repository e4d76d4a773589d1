"""Any function obs -> (loc, scale) as a reference policy."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from nppac.references.base import Reference
from nppac.references.checks import checked_answer
from nppac.types import Family, ReferenceStats
from nppac.utils.errors import UserError, unknown_name
from nppac.utils.files import write_arrays
from nppac.utils.imports import import_users

FAMILIES: tuple[Family, ...] = ("normal", "laplace")


class CustomReference(Reference):
    """The user's own policy: a Gaussian, or a Laplace density, with the function's loc and scale.

    A file holds only the name, and is loaded only by who names the function as well.
    """

    def __init__(self, function: Callable[[np.ndarray], Any], name: str, family: str = "normal"):
        if family not in FAMILIES:
            raise unknown_name("family of a custom reference", family, FAMILIES)
        self.function, self.name = function, name
        self.family: Family = "laplace" if family == "laplace" else "normal"

    @classmethod
    def named(cls, name: str, family: str = "normal") -> "CustomReference":
        """The function that `module:function` names."""
        return cls(import_function(name), name, family)

    def __call__(self, obs: np.ndarray) -> ReferenceStats:
        """What the function answers, checked."""
        try:
            answer = self.function(obs)
        except Exception as error:
            raise UserError(
                f"The reference '{self.name}' failed on observations of shape {np.shape(obs)}: "
                f"{type(error).__name__}: {error}."
            ) from error
        return checked_answer(answer, len(obs), f"The reference '{self.name}'")

    def mean(self, obs: np.ndarray) -> np.ndarray:
        """Location alone."""
        return np.asarray(self(obs).loc)

    def save(self, path: str | Path) -> None:
        """Write the function's name and the family."""
        names = {"kind": "custom", "name": self.name, "family": self.family}
        write_arrays(path, {key: np.asarray(value) for key, value in names.items()})

    @classmethod
    def from_arrays(
        cls, arrays: dict[str, np.ndarray], trusted: str | None = None
    ) -> "CustomReference":
        """The reference that `save` wrote; its function is imported only if it is the trusted one.

        Reading a file must never run code that only the file asks for.
        """
        name = str(arrays["name"])
        if name != trusted:
            raise UserError(
                f"This file only names the function '{name}', and a file is never allowed to "
                f"import code. Name the function itself: --reference {name}"
            )
        return cls.named(name, str(arrays["family"]))

    def summary(self) -> dict[str, object]:
        """Kind, name and family."""
        return {"kind": "custom", "name": self.name, "family": self.family}


def import_function(name: str) -> Callable[[np.ndarray], Any]:
    """The function of a module, named as `module:function`; modules of this directory count."""
    module_name, _, attribute = name.partition(":")
    if not module_name or not attribute:
        raise UserError(f"'{name}' names no function. Write it as module:function.")
    module = import_users(module_name, f"the reference '{name}'")
    function = getattr(module, attribute, None)
    if function is None:
        public = [known for known, value in vars(module).items() if callable(value)]
        raise unknown_name(f"function in module '{module_name}'", attribute, public)
    if not callable(function):
        raise UserError(f"'{name}' is a {type(function).__name__}, not a function.")
    return function
