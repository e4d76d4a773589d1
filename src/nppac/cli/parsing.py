"""Settings classes as flags: the classes themselves are parsed, no copies of them."""

import contextlib
import dataclasses
import difflib
import inspect
import io
import math
import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial, wraps
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, TypeVar, Union, cast, get_args, get_origin

import tyro
from tyro.constructors import (
    ConstructorRegistry,
    PrimitiveConstructorSpec,
    PrimitiveTypeInfo,
    StructConstructorSpec,
    StructFieldSpec,
    StructTypeInfo,
)

from nppac.cli.completion import flags_of
from nppac.utils.errors import UserError

T = TypeVar("T")
HELP_ALL = "--help-all"
MORE_HELP = f"\n{HELP_ALL} shows every flag. --threads N uses at most N threads."
METAVARS = {str: None, Path: None, int: "INT", float: "FLOAT"}
"""What a flag's value is called; by default it has the name of the field."""


@dataclass(frozen=True)
class Layout:
    """How the fields of settings classes become flags."""

    owner: type | None = None
    """The class that `flat` and `fixed` speak of."""
    flat: frozenset[str] = frozenset()
    """Fields that hold settings whose flags begin with no prefix."""
    fixed: frozenset[str] = frozenset()
    """Fields that are no flags."""
    brief: frozenset[str] | None = None
    """Fields that `--help` shows; None shows all."""


def parse(
    kind: Callable[..., T],
    args: Sequence[str],
    prog: str,
    default: T | None = None,
    layout: Layout | None = None,
) -> T:
    """Parse arguments as the fields of a class or the parameters of a function, and call it.

    Whole numbers may be written as 1e5. With `--help-all`, the help shows what `--help` leaves out.
    """
    layout = layout or Layout()
    everything = HELP_ALL in args or not {"-h", "--help"} & set(args)
    shown = dataclasses.replace(layout, brief=None) if everything else layout
    words = ["--help" if word == HELP_ALL else word for word in args]
    brief = shown.brief is not None
    cli = partial(
        tyro.cli,
        kind if isinstance(kind, type) else _to_call_later(kind),
        args=words,
        prog=prog,
        description=inspect.cleandoc(kind.__doc__ or "").strip() + MORE_HELP if brief else None,
        registry=_registry(shown),
    )
    told = io.StringIO()
    try:
        with contextlib.redirect_stderr(told):
            found = cli() if default is None else cli(default=cast(Any, default))
    except SystemExit as stop:
        if stop.code:
            again = partial(parse, kind, prog=prog, default=default, layout=layout)
            _refuse_unknown(words, lambda other: again(args=other), prog)
        sys.stderr.write(told.getvalue())
        raise
    return cast(T, found if isinstance(kind, type) else cast(Any, found)())


def _to_call_later(command: Callable[..., T]) -> Callable[..., Callable[[], T]]:
    """The same parameters, but only what to call: what a command tells is no parser's business."""

    @wraps(command)
    def bound(*args: object, **named: object) -> Callable[[], T]:
        return partial(command, *args, **named)

    return bound


def _refuse_unknown(
    words: Sequence[str], command: Callable[[Sequence[str]], object], prog: str
) -> None:
    """Name the first flag that a command has not, and the nearest that it has, in one line.

    The parser itself may complain of what follows from that: of a value that is missing, say.
    """
    known = flags_of(command)
    for word in words:
        flag = word.partition("=")[0].replace("_", "-")
        if re.match(r"--?[A-Za-z]", flag) and flag not in (*known, "-h"):
            near = difflib.get_close_matches(flag, known, n=1)
            hint = f" Did you mean '{near[0]}'?" if near else ""
            error = UserError(f"Unknown option '{flag[:100]}'.{hint}")
            print(f"error: {error} `{prog} {HELP_ALL}` shows all.", file=sys.stderr)
            raise SystemExit(2) from None


def parse_known(kind: type[T], args: Sequence[str]) -> T:
    """Parse only the fields of `kind`, and leave other arguments to a second look."""
    words = [word for word in args if word not in ("-h", "--help", HELP_ALL)]
    found, _ = tyro.cli(kind, args=words, return_unknown_args=True, add_help=False)
    return found


def _registry(layout: Layout) -> ConstructorRegistry:
    registry = ConstructorRegistry()
    registry.primitive_rule(_whole_number)
    asked: list[object] = []

    def rule(info: StructTypeInfo) -> StructConstructorSpec | None:
        if any(one is info for one in asked):
            return None  # tyro's own rules answer what is asked below
        asked.append(info)
        try:
            spec = ConstructorRegistry.get_struct_spec(info)
        finally:
            asked.pop()
        if not isinstance(spec, StructConstructorSpec):
            return None
        own = info.type is layout.owner
        fields = tuple(_arranged(field, layout, own) for field in spec.fields)
        return dataclasses.replace(spec, fields=fields)

    registry.struct_rule(rule)
    return registry


def _arranged(field: StructFieldSpec, layout: Layout, own: bool) -> StructFieldSpec:
    """A field whose type says how tyro shows and names it."""
    kind: object = field.type
    holds_settings = dataclasses.is_dataclass(field.default)
    if holds_settings:  # the annotation may admit many classes: the value says which it is
        kind = type(field.default)
    nested = layout.owner is not None and kind is layout.owner
    if own and field.name in layout.fixed:
        kind = Annotated[kind, tyro.conf.Fixed, tyro.conf.Suppress]
    elif nested or (holds_settings and own and field.name in layout.flat):
        kind = Annotated[kind, tyro.conf.arg(name="")]
    elif layout.brief is not None and field.name not in layout.brief:
        kind = Annotated[kind, tyro.conf.Suppress]
    elif not holds_settings:
        kind = _with_metavar(kind, field.name)
    return dataclasses.replace(field, type=cast(type, kind))


def _with_metavar(kind: object, name: str) -> object:
    """An optional value shown as what it is, not as `{None}|STR`."""
    bare, *notes = get_args(kind) if get_origin(kind) is Annotated else (kind,)
    if any(getattr(note, "metavar", None) for note in notes):
        return kind
    optional = get_origin(bare) in (Union, UnionType) and NoneType in get_args(bare)
    inner = [part for part in get_args(bare) if part is not NoneType] if optional else [bare]
    plain = get_args(inner[0])[0] if get_origin(inner[0]) is Annotated else inner[0]
    if len(inner) != 1 or plain not in METAVARS:
        return kind
    metavar = METAVARS[plain] or name.upper().replace("_", "-")
    return Annotated[kind, tyro.conf.arg(metavar=metavar)]


def _whole_number(info: PrimitiveTypeInfo) -> PrimitiveConstructorSpec[int] | None:
    if info.type is not int:
        return None
    return PrimitiveConstructorSpec(
        nargs=1,
        metavar="INT",
        instance_from_str=lambda words: whole_number(words[0]),
        is_instance=lambda value: isinstance(value, int) and not isinstance(value, bool),
        str_from_instance=lambda value: [str(value)],
    )


def whole_number(text: str) -> int:
    """The number that 1000, 1_000 and 1e3 are."""
    try:
        return int(text)
    except ValueError:
        number = float(text.replace("_", ""))
        if math.isfinite(number) and number.is_integer():
            return int(number)
        raise ValueError(f"{text} is no whole number") from None
