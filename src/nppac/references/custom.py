"""A user's own reference: a function obs -> (loc, scale), a `Reference`, or settings of a fit."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import ClassVar, TypeVar

import numpy as np

from nppac.references.base import Arrays, Reference
from nppac.references.checks import checked_answer
from nppac.references.files import nested, unnested
from nppac.references.registry import LOADERS, register_loader
from nppac.references.user_module import classes_of, import_attribute, users_callable
from nppac.types import Family, ReferenceStats
from nppac.utils.errors import LONGEST_NAME, UserError, unknown_name
from nppac.utils.progress import Advance

FAMILIES: tuple[Family, ...] = ("normal", "laplace")
T = TypeVar("T")
FITTED = "fitted_"
"""Prefix of the arrays of a reference that was fitted."""


class ReferenceConfig(ABC):
    """Settings of a user's own reference, and its fit; derive a frozen dataclass from it."""

    @abstractmethod
    def fit(self, obs: np.ndarray, actions: np.ndarray, advance: Advance) -> Reference:
        """Fit to observations (n, o) and actions (n, d); `advance` counts to `steps`."""

    @property
    def steps(self) -> int:
        """What the progress of `fit` counts to; 0 where it counts nothing."""
        return 0


class CustomReference(Reference):
    """The user's own policy: a Gaussian, or a Laplace density, with the function's loc and scale.

    A file holds the name, and the arrays of a reference that was fitted. It is loaded only by who
    names the same.
    """

    kind: ClassVar[str] = "custom"

    def __init__(
        self,
        function: Callable[[np.ndarray], object],
        name: str,
        family: str = "normal",
        fitted: Reference | None = None,
    ):
        if family not in FAMILIES and not isinstance(function, Reference):
            raise unknown_name("family of a custom reference", family, FAMILIES)
        self.function, self.name, self.fitted = function, name, fitted
        own: Family = "laplace" if family == "laplace" else "normal"
        self.family = function.family if isinstance(function, Reference) else own

    @classmethod
    def named(cls, name: str, family: str = "normal") -> "CustomReference":
        """The function or the `Reference` that `module:name` names."""
        found = import_attribute(name)
        if isinstance(found, type) and issubclass(found, ReferenceConfig):
            raise UserError(f"'{name}' holds the settings of a fit; it must be fitted first.")
        if isinstance(found, type) and issubclass(found, Reference):
            found = _attempt(found, f"The reference '{name}' cannot be made without settings")
        if isinstance(found, Reference):
            return cls(found, name)
        return cls(users_callable(found, name), name, family)

    def __call__(self, obs: np.ndarray) -> ReferenceStats:
        """What the function answers, checked."""
        failed = f"The reference '{self.name}' failed on observations of shape {np.shape(obs)}"
        answer = _attempt(lambda: self.function(obs), failed)
        return checked_answer(answer, len(obs), f"The reference '{self.name}'")

    def far_scale(self) -> np.ndarray | None:
        """That of a `Reference`; of a function none is known."""
        return self.function.far_scale() if isinstance(self.function, Reference) else None

    def mean(self, obs: np.ndarray) -> np.ndarray:
        """Location alone."""
        if isinstance(self.function, Reference):
            return self.function.mean(obs)
        return np.asarray(self(obs).loc)

    def arrays(self) -> Arrays:
        """The name, the family, and the arrays of a fitted reference."""
        fitted = {} if self.fitted is None else nested(FITTED, self.fitted)
        return {"name": np.asarray(self.name), "family": np.asarray(self.family), **fitted}

    @classmethod
    def from_arrays(cls, arrays: Arrays, trusted: str | None = None) -> "CustomReference":
        """The reference that `arrays` described; it is imported only if it is the trusted one.

        Reading a file must never run code that only the file asks for.
        """
        name = str(arrays["name"])
        if len(name) > LONGEST_NAME:
            raise UserError(f"This file names a function by {len(name):,} characters.")
        if name != trusted:
            raise UserError(
                f"This file only names the reference '{name}', and a file is never allowed to "
                f"import code. Name it yourself: --reference {name}, or in Python "
                f"load_reference(FILE, trusted='{name}')."
            )
        inner = unnested(FITTED, arrays)
        if not inner:
            return cls.named(name, str(arrays["family"]))
        fitted = _rebuild(name, inner)
        return cls(fitted, name, fitted=fitted)

    def summary(self) -> dict[str, object]:
        """Kind, name and family, and the summary of what was fitted."""
        fitted = {} if self.fitted is None else {"fitted": self.fitted.summary()}
        return {"kind": self.kind, "name": self.name, "family": self.family, **fitted}


def custom_config_class(name: str) -> type[ReferenceConfig] | None:
    """The class of settings that `module:Name` names; None where it names no such class."""
    found = import_attribute(name)
    if isinstance(found, type) and issubclass(found, ReferenceConfig):
        return found
    return None


def custom_config(name: str, given: object | None) -> ReferenceConfig | None:
    """The given settings of `module:Name`, or its defaults; None where it names no such class."""
    settings = custom_config_class(name)
    if settings is None:
        if given is not None:
            raise UserError(f"The reference '{name}' takes no settings.")
        return None
    if given is None:
        return _attempt(settings, f"The settings '{name}' have no defaults")
    if not isinstance(given, settings):
        raise UserError(f"The settings of '{name}' are {type(given).__name__}; give {name}.")
    return given


def fit_custom(
    name: str, config: ReferenceConfig, obs: np.ndarray, actions: np.ndarray, advance: Advance
) -> CustomReference:
    """The reference that the user's own settings fit."""
    failed = f"The fit of '{name}' failed"
    fitted = _attempt(lambda: config.fit(obs, actions, advance), failed)
    if not isinstance(fitted, Reference):
        raise UserError(
            f"The fit of '{name}' returned {type(fitted).__name__}; it must return an instance of "
            "nppac.references.Reference."
        )
    return CustomReference(fitted, name, fitted=fitted)


def _rebuild(name: str, arrays: Arrays) -> Reference:
    """The fitted reference, by a class of the user's module or by one of the registry."""
    if custom_config_class(name) is None:
        raise UserError(f"'{name}' is no class of settings any more. Fit the reference again.")
    classes = [one for one in classes_of(name, Reference) if hasattr(one, "kind")]
    own = {one.kind: one.from_arrays for one in classes}
    kind, loaders = str(arrays["kind"]), {**own, **LOADERS}
    if kind not in loaders:
        raise unknown_name(f"kind of reference in the module of '{name}'", kind, loaders)
    return loaders[kind](arrays)


def _attempt(action: Callable[[], T], failed: str) -> T:
    """What a user's code returns; it can fail in any way."""
    try:
        return action()
    except UserError:
        raise
    except Exception as error:
        raise UserError(f"{failed}: {type(error).__name__}: {error}.") from error


register_loader(CustomReference)
