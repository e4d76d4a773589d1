"""What a name `module:name` may bring in as a reference, and what it may not."""

import sys
from collections.abc import Callable
from types import FunctionType
from typing import TypeVar

from nppac.utils.errors import UserError, unknown_name
from nppac.utils.imports import import_users

T = TypeVar("T")


def import_attribute(name: str) -> object:
    """What `module:name` names; modules of the working directory count.

    Python's own modules are refused: some of their functions, such as those of pickle, would run
    the bytes of an observation as a program.
    """
    module_name, attribute = _parts(name)
    if module_name.partition(".")[0] in sys.stdlib_module_names:
        raise UserError(
            f"'{name}' is in Python's standard library, which holds no references. Write a "
            "function in a module of your own."
        )
    module = import_users(module_name, f"the reference '{name}'")
    found = getattr(module, attribute, None)
    if found is None:
        public = [known for known, value in vars(module).items() if callable(value)]
        raise unknown_name(f"function in module '{module_name}'", attribute, public)
    return found


def users_callable(found: object, name: str) -> Callable[..., object]:
    """`found` if it is a plain function that its module defines.

    Builtins and what a module only imports are refused: nobody wrote them as a reference.
    """
    module_name, _ = _parts(name)
    if not isinstance(found, FunctionType):
        raise UserError(
            f"'{name}' is a {type(found).__name__}, not a function. Give a plain function, a "
            "Reference or a class of settings that derives from ReferenceConfig."
        )
    if found.__module__ != module_name:
        raise UserError(
            f"'{name}' is defined in the module '{found.__module__}', not in '{module_name}'. "
            f"Name it as {found.__module__}:{found.__name__}, or wrap it in a function of your own."
        )
    return found


def classes_of(name: str, base: type[T]) -> list[type[T]]:
    """The classes derived from `base` that the module of `module:name` knows."""
    module = import_users(_parts(name)[0], f"the reference '{name}'")
    known = vars(module).values()
    return [one for one in known if isinstance(one, type) and issubclass(one, base)]


def _parts(name: str) -> tuple[str, str]:
    module_name, _, attribute = name.partition(":")
    if not module_name or not attribute:
        raise UserError(f"'{name}' names no function. Write it as module:function.")
    return module_name, attribute
