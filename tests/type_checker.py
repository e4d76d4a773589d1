"""How types are checked at run time in tests: an int counts as a float, as PEP 484 has it.

jaxtyping's own decorator opens a scope for the names of axes at every call, and checks arguments
twice so as to word its errors better. Here a function is checked by beartype, once, and has such a
scope only if one of its annotations has a shape. That takes a small part of the time.
"""

import inspect
from collections.abc import Callable, Iterator
from dataclasses import is_dataclass
from functools import cache
from typing import Any, ForwardRef, Literal, get_args, get_origin

import jaxtyping
from beartype import BeartypeConf, beartype

_beartype = beartype(conf=BeartypeConf(is_pep484_tower=True))
_jaxtyped = jaxtyping.jaxtyped
_TEXTS = (str, ForwardRef)


def install() -> None:
    """Have every function and every dataclass of the package checked when it is imported."""
    # The hook writes `@jaxtyping.jaxtyped(typechecker=...)` before each of them.
    setattr(jaxtyping, "jaxtyped", lambda **_: checked)  # noqa: B010 - pyright knows its type
    jaxtyping.install_import_hook("nppac", None)


def checked(target: Any) -> Any:
    """A function that refuses what its annotations do not allow, or a dataclass that does."""
    if not inspect.isclass(target):
        return _checked_function(target)
    if is_dataclass(target) and not hasattr(target.__init__, "__checked__"):
        target.__init__ = _checked_function(target.__init__)
    return target


def _checked_function(function: Callable[..., Any]) -> Callable[..., Any]:
    annotations = getattr(function, "__annotations__", {}).values()
    parts = [part for annotation in annotations for part in _parts(annotation)]
    if inspect.isgeneratorfunction(function) or any(isinstance(part, _TEXTS) for part in parts):
        # It checks a generator when it is called, and looks up what text means.
        found = _jaxtyped(function, typechecker=_beartype)
    elif any(isinstance(part, _shapes()) for part in parts):
        found = _jaxtyped(_beartype(function), typechecker=None)
    else:
        found = _beartype(function)
    found.__checked__ = True
    return found


@cache
def _shapes() -> tuple[type, ...]:
    """What annotations of shapes are; naming them imports JAX, whose settings come before that."""
    return type(jaxtyping.AbstractArray), type(jaxtyping.PyTree)


def _parts(annotation: object) -> Iterator[object]:
    """An annotation and all that it is made of."""
    yield annotation
    if get_origin(annotation) is not Literal:  # whose texts are values
        for part in annotation if isinstance(annotation, list) else get_args(annotation):
            yield from _parts(part)
