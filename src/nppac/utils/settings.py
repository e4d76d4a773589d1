"""Settings: frozen dataclasses whose values are checked against their annotations when made.

A setting says what it may be where it is declared, as in `steps: Count = 50_000`; a wrong value
raises a `UserError` that names the setting, the value and the expectation. The same annotations
serve the command line and the reading of JSON.
"""

import dataclasses
import difflib
import json
import math
import re
import reprlib
import typing
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, TypeVar, cast, dataclass_transform

import pydantic
from pydantic import Field, TypeAdapter, ValidationError

from nppac.utils.errors import UserError, unknown_name

LARGEST = 3e38
"""Numbers stay within what a float32 holds."""
Count = Annotated[int, Field(ge=1, le=10**12)]
"""A whole number, at least 1: how often or how long, which takes time but no memory."""
NaturalNumber = Annotated[int, Field(ge=0, le=10**12)]
"""The same, or 0."""
Size = Annotated[int, Field(ge=1, le=10**6)]
"""How many rows are in memory at once, from 1 to a million."""
Several = Annotated[int, Field(ge=1, le=100)]
"""How many networks, samples or environments stand side by side, from 1 to a hundred."""
Positive = Annotated[float, Field(gt=0, le=LARGEST, allow_inf_nan=False)]
"""A finite number above 0."""
AtLeastOne = Annotated[float, Field(ge=1, le=LARGEST, allow_inf_nan=False)]
"""A finite factor that does not shrink."""
NonNegative = Annotated[float, Field(ge=0, le=LARGEST, allow_inf_nan=False)]
"""A finite number, at least 0."""
Finite = Annotated[float, Field(ge=-LARGEST, le=LARGEST, allow_inf_nan=False)]
"""A finite number."""
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
Width = Annotated[int, Field(ge=1, le=2**16)]
"""Width of a hidden layer."""
Widths = Annotated[tuple[Width, ...], Field(max_length=20)]
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
    """The settings that plain data describe; `where` names the data in errors.

    Types are those of JSON: "1" and true are no numbers, but 1e5 is a whole one.
    """
    try:
        if isinstance(values, dict):  # a plain dataclass would ignore what it does not know
            _check_names(kind, values)
        return TypeAdapter(kind).validate_json(json.dumps(_whole(values)), strict=True)
    except ValidationError as error:
        raise UserError(f"{where}: {explain(error, kind)}") from None
    except UserError as error:  # of a nested `settings`, or of its own __post_init__
        raise UserError(f"{where}: {error}") from None
    except RecursionError:
        raise UserError(f"{where}: the data are nested too deeply for settings.") from None


def _whole(value: object) -> object:
    """The data with whole numbers as such, which JSON may write as 1e5."""
    if isinstance(value, dict):
        return {name: _whole(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_whole(item) for item in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _check_names(kind: type, values: Mapping[str, object]) -> None:
    known = _names(kind)
    for name in values if known else ():
        if name not in known:
            raise unknown_name("setting", reprlib.repr(name).strip("'"), known)


def _names(kind: object) -> list[str]:
    fields = dataclasses.fields(cast(Any, kind)) if dataclasses.is_dataclass(kind) else ()
    return [field.name for field in fields]


def plain_settings(value: object) -> dict[str, object]:
    """Settings as plain data for JSON, which knows no tuples."""
    return TypeAdapter(type(value)).dump_python(value, mode="json")


def explain(error: ValidationError, kind: type) -> str:
    """The first mistake in words: which setting, what it is, and what it must be."""
    first = error.errors(include_url=False)[0]
    path, inner = _place(kind, first["loc"])
    if first["type"] in ("unexpected_keyword_argument", "extra_forbidden"):
        return str(unknown_name("setting", path, [_joined(path, name) for name in _names(inner)]))
    if first["type"] == "json_invalid":
        return "the data are nested too deeply for settings."
    name = f"'{path}' is " if path else "It is "
    text = _expectation(first["type"], first.get("ctx", {}), first)
    return f"{name}{_short(first['input'])}; {text}" + ("" if text.endswith("?") else ".")


def _place(kind: object, loc: Sequence[int | str]) -> tuple[str, object]:
    """The setting's dotted name, without pydantic's names of a union's members, and its class."""
    names: list[str] = []
    owner = kind
    for part in loc:
        known = _names(kind)
        if known and isinstance(part, int):  # given by its position
            part = known[part]
        if isinstance(part, int) or part in known or (known and part == loc[-1]):
            names.append(str(part))
            owner = kind
            kind = typing.get_type_hints(kind).get(str(part)) if known else None
    return ".".join(names), owner


def _joined(path: str, name: str) -> str:
    """The name of a setting beside the one at `path`."""
    head = path.rpartition(".")[0]
    return f"{head}.{name}" if head else name


def _short(value: object) -> str:
    """A value on one line, however large and deep it is."""
    if isinstance(value, int) and abs(value) >= 10**30:
        return f"a number of {int(value.bit_length() * math.log10(2)) + 1} digits"
    return reprlib.repr(value)


def _expectation(kind: str, limits: Mapping[str, object], first: Mapping[str, object]) -> str:
    words = {
        "greater_than": "it must be greater than {gt}",
        "greater_than_equal": "it must be at least {ge}",
        "less_than": "it must be less than {lt}",
        "less_than_equal": "it must be at most {le}",
        "finite_number": "it must be finite",
        "too_long": "it must have at most {max_length} entries",
        "literal_error": "it must be one of {expected}",
        "missing": "it is missing",
        "bool_type": "it must be true or false",
        "int_type": "it must be a whole number",
        "float_type": "it must be a number",
        "string_type": "it must be a text",
        "tuple_type": "it must be a list",
        "dataclass_type": "it must be an object with settings",
    }
    text = words.get(kind)
    if text is None:
        return str(first["msg"]).lower().replace("input should", "it must")
    near = _suggestion(first["input"], str(limits["expected"])) if kind == "literal_error" else ""
    return text.format(**limits) + near


def _suggestion(value: object, expected: str) -> str:
    near = difflib.get_close_matches(str(value)[:100], re.findall(r"'([^']*)'", expected), n=1)
    return f". Did you mean '{near[0]}'?" if near else ""
