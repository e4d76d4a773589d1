"""What a pickle asks for, in nodes that do nothing: no name is looked up, called or filled."""

from dataclasses import dataclass
from typing import Literal

from nppac.utils.errors import UserError


@dataclass(frozen=True, eq=False, repr=False, slots=True)
class Token:
    """The name of an admitted function or type; not the thing itself."""

    name: str


@dataclass(frozen=True, eq=False, repr=False, slots=True)
class Call:
    """A call that the pickle asks for."""

    function: Token
    args: tuple[object, ...]


@dataclass(frozen=True, eq=False, repr=False, slots=True)
class Built:
    """A call whose result is to be given a state."""

    call: Call
    state: tuple[object, ...]


@dataclass(frozen=True, eq=False, repr=False, slots=True)
class Items:
    """A dict, as keys and values by turns, or a set: what the file holds is not hashed here."""

    kind: Literal["dict", "set", "frozenset"]
    entries: list[object]


def _admitted() -> dict[tuple[str, str], Token]:
    names = [("numpy", "ndarray"), ("numpy", "dtype"), ("_codecs", "encode")]
    tokens = {(module, name): Token(name) for module, name in names}
    tokens["collections", "OrderedDict"] = Token("OrderedDict")
    for module in ("builtins", "__builtin__"):
        tokens |= {(module, name): Token(name) for name in ("bytes", "set", "frozenset")}
    for core in ("numpy.core", "numpy._core"):  # NumPy 2 renamed it; files of both ages exist
        tokens[f"{core}.multiarray", "_reconstruct"] = Token("_reconstruct")
        tokens[f"{core}.multiarray", "scalar"] = Token("scalar")
        tokens[f"{core}.numeric", "_frombuffer"] = Token("_frombuffer")
    return tokens


_ADMITTED = _admitted()


def token(module: object, name: object) -> Token:
    """The token of an admitted name; refuses every other."""
    if not (isinstance(module, str) and isinstance(name, str)):
        raise ValueError("a name is no text")
    if (module, name) not in _ADMITTED:
        raise UserError(
            f"refused {f'{module[:60]}.{name[:60]}'!r}: demonstrations may hold NumPy arrays and "
            "plain containers only, and a pickle that asks for more could run a program. "
            "Convert the file to npz where you trust it."
        )
    return _ADMITTED[module, name]
