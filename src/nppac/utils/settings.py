"""Settings: frozen dataclasses whose values are checked against their annotations when made.

A setting says what it may be where it is declared, as in `steps: Count = 50_000`; a wrong value
raises a `UserError` that names the setting, the value and the expectation. The same annotations
serve the command line and the reading of JSON.
"""

import dataclasses
import difflib
import re
from collections.abc import Mapping
from typing import Annotated, Any, TypeVar, cast, dataclass_transform

import pydantic
from pydantic import Field, TypeAdapter, ValidationError

from nppac.utils.errors import UserError, unknown_name

Count = Annotated[int, Field(ge=1)]
"""A whole number, at least 1."""
NaturalNumber = Annotated[int, Field(ge=0)]
"""A whole number, at least 0."""
Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]
"""A finite number above 0."""
NonNegative = Annotated[float, Field(ge=0, allow_inf_nan=False)]
"""A finite number, at least 0."""
Finite = Annotated[float, Field(allow_inf_nan=False)]
"""Any number but NaN and infinities."""
Fraction = Annotated[float, Field(ge=0, le=1)]
"""A number within 0 and 1, both included."""
OpenFraction = Annotated[float, Field(gt=0, lt=1)]
"""A number between 0 and 1, neither included."""
ProperFraction = Annotated[float, Field(ge=0, lt=1)]
"""A number from 0 to 1, with 0 and without 1."""
PositiveFraction = Annotated[float, Field(gt=0, le=1)]
"""A number from 0 to 1, without 0 and with 1."""
Seed = Annotated[int, Field(ge=0, lt=2**32)]
"""What every random generator takes as a seed."""
Widths = tuple[Count, ...]
"""Widths of hidden layers."""

T = TypeVar("T")
_RULES = pydantic.ConfigDict(extra="forbid", arbitrary_types_allowed=True)


@dataclass_transform(frozen_default=True)
def settings(cls: type[T]) -> type[T]:
    """A frozen dataclass that refuses values which its annotations do not admit."""
    made = cast(Any, pydantic.dataclasses.dataclass(frozen=True, config=_RULES)(cls))
    checked = made.__init__

    def __init__(self: object, *args: object, **values: object) -> None:
        try:
            checked(self, *args, **values)
        except ValidationError as error:
            raise UserError(explain(error, made)) from None

    made.__init__ = __init__
    return made


def read_settings(kind: type[T], values: object, where: str) -> T:
    """The settings that plain data describe; `where` names the data in errors."""
    try:
        return TypeAdapter(kind).validate_python(values)
    except ValidationError as error:
        raise UserError(f"{where}: {explain(error, kind)}") from None
    except UserError as error:  # of a nested `settings`, or of its own __post_init__
        raise UserError(f"{where}: {error}") from None


def plain_settings(value: object) -> dict[str, Any]:
    """Settings as plain data for JSON, which knows no tuples."""
    return TypeAdapter(type(value)).dump_python(value, mode="json")


def explain(error: ValidationError, kind: type) -> str:
    """The first mistake in words: which setting, what it is, and what it must be."""
    first = error.errors(include_url=False)[0]
    name = ".".join(str(part) for part in first["loc"] if not str(part).startswith("function-"))
    if first["type"] in ("unexpected_keyword_argument", "extra_forbidden"):
        known = [field.name for field in dataclasses.fields(cast(Any, kind))]
        return str(unknown_name("setting", name, known))
    value = first["input"]
    text = _expectation(first["type"], first.get("ctx", {}), first)
    return f"'{name}' is {value!r}; {text}" + ("" if text.endswith("?") else ".")


def _expectation(kind: str, limits: Mapping[str, Any], first: Mapping[str, Any]) -> str:
    words = {
        "greater_than": "it must be greater than {gt}",
        "greater_than_equal": "it must be at least {ge}",
        "less_than": "it must be less than {lt}",
        "less_than_equal": "it must be at most {le}",
        "finite_number": "it must be finite",
        "literal_error": "it must be one of {expected}",
        "missing": "it is missing",
    }
    text = words.get(kind)
    return (
        text.format(**limits) if text else first["msg"].lower().replace("input should", "it must")
    )


def _suggestion(value: object, expected: str) -> str:
    near = difflib.get_close_matches(str(value), re.findall(r"'([^']*)'", expected), n=1)
    return f". Did you mean '{near[0]}'?" if near else ""
