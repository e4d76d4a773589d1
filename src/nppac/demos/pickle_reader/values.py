"""From the nodes of a parsed pickle to plain values and arrays of plain numbers.

Every node is converted once, whatever refers to it, so that a small file stays small.
"""

from collections.abc import Callable, Collection, Iterator, Sequence

import numpy as np

from nppac.demos.pickle_reader.arrays import (
    Room,
    from_buffer,
    make_array,
    make_dtype,
    make_scalar,
    raw_bytes,
    with_byte_order,
)
from nppac.demos.pickle_reader.nodes import Built, Call, Items, Token
from nppac.utils.errors import UserError
from nppac.utils.text import shown

MOST_LEVELS = 40
"""How deep containers may lie in one another; the published files need fewer than ten."""
_LARGEST_KEY = 2**16
_COMPOSITE = frozenset((list, tuple, Items, Call, Built))


def values_of(root: object, file_size: int) -> object:
    """The value that the parsed pickle `root` stands for."""
    converter = _Converter(Room(file_size))
    for node in _parts_first(root):
        converter.convert(node)
    return converter.value(root)


def _parts(node: object) -> Sequence[object]:
    """What must be converted before `node`."""
    if type(node) is Items:
        return node.entries
    if type(node) is Call:
        return node.args
    if type(node) is Built:
        # A new array's arguments say nothing of it; a dtype's say what it is.
        return (*node.call.args, *node.state) if node.call.function.name == "dtype" else node.state
    assert isinstance(node, list | tuple)
    return node


def _parts_first(root: object) -> list[object]:
    """Every composite node once, after its parts; a loop, as recursion would end in a crash."""
    order: list[object] = []
    levels: dict[int, int] = {}  # 0 while its parts are visited, then how deep they go
    path: list[tuple[object, Iterator[object]]] = [([root], iter([root]))]
    while path:
        node, rest = path[-1]
        for part in rest:
            if type(part) not in _COMPOSITE or levels.get(id(part)):
                continue
            if id(part) in levels:
                raise UserError("refused a container that holds itself.")
            levels[id(part)] = 0
            path.append((part, iter(_parts(part))))
            break
        else:
            path.pop()
            order.append(node)
            levels[id(node)] = 1 + max([levels.get(id(p), 0) for p in _parts(node)], default=0)
        # Both, as a shared part may go deeper than the path on which it was met first.
        if len(path) > MOST_LEVELS or levels.get(id(node), 0) > MOST_LEVELS:
            raise UserError("it is nested too deeply to be demonstrations.")
    return order[:-1]  # the last is the list around the root


class _Converter:
    """Converts nodes whose parts have been converted before."""

    def __init__(self, room: Room) -> None:
        self._room = room
        self._values: dict[int, object] = {}

    def value(self, node: object) -> object:
        """The value of a converted node, or of one that is a plain value."""
        if type(node) in _COMPOSITE:
            return self._values[id(node)]
        if type(node) is Token:
            raise UserError(f"refused '{node.name}' as a value: only arrays and numbers are read.")
        return node

    def convert(self, node: object) -> None:
        """Convert one node."""
        if type(node) is Built:
            value = self._built(node)
        elif type(node) is Call:
            value = self._called(node)
        else:
            values = [self.value(part) for part in _parts(node)]
            if type(node) is Items:
                value = _container(node.kind, values)
            else:
                value = tuple(values) if type(node) is tuple else values
        self._values[id(node)] = value

    def _built(self, node: Built) -> object:
        function, state = node.call.function.name, [self.value(part) for part in node.state]
        if function == "dtype":
            dtype = self._called(node.call)
            assert isinstance(dtype, np.dtype)
            return with_byte_order(dtype, state)
        names = [part.name for part in node.call.args[:1] if type(part) is Token]
        if function != "_reconstruct" or names != ["ndarray"] or len(state) not in (4, 5):
            raise UserError(f"refused to set the state of what '{function}' makes.")
        return make_array(self._room, state)

    def _called(self, node: Call) -> object:
        function = node.function.name
        if function not in _CALLS:
            raise UserError(
                f"refused to call '{function}': an array is read only as NumPy itself writes it."
            )
        args = [self.value(part) for part in node.args]
        try:
            return _CALLS[function](self._room, *args)
        except TypeError as error:  # too many arguments, or none that it can take
            raise ValueError(f"'{function}' is called as no writer of arrays does") from error


def _container(kind: str, entries: list[object]) -> object:
    if kind == "dict":
        return dict(zip(map(_key, entries[::2]), entries[1::2], strict=True))
    return (set if kind == "set" else frozenset)(map(_key, entries))


def _key(key: object) -> str | bytes | int:
    """A key; large integers could be chosen to have one hash, which would take for ever."""
    if type(key) is str or type(key) is bytes:
        return key
    if type(key) is int and abs(key) <= _LARGEST_KEY:
        return key
    raise UserError(f"refused the key {shown(key)}: expected text or a small whole number.")


def _entries(value: object) -> Collection[object]:
    if not isinstance(value, Collection):
        raise TypeError(f"a {type(value).__name__} has no entries")
    return value


def _set(kind: str) -> Callable[..., object]:
    def make(room: Room, entries: object = ()) -> object:
        held = _entries(entries)
        room.take(len(held))
        return _container(kind, list(held))

    return make


def _ordered_dict(room: Room, pairs: object) -> dict[str | bytes | int, object]:
    held = _entries(pairs)
    room.take(len(held))
    return {_key(key): value for key, value in map(_entries, held)}


def _encode(room: Room, text: object, encoding: object = "utf-8") -> bytes:
    """Python 3 writes bytes into old protocols by this call."""
    if encoding not in ("latin1", "latin-1"):
        raise UserError(f"refused to encode with {shown(encoding)}.")
    return raw_bytes(room, text)


_CALLS: dict[str, Callable[..., object]] = {
    "bytes": lambda room: b"",  # what old protocols call for empty ones; a size it must not take
    "set": _set("set"),
    "frozenset": _set("frozenset"),
    "OrderedDict": _ordered_dict,
    "encode": _encode,
    "dtype": make_dtype,
    "scalar": make_scalar,
    "_frombuffer": from_buffer,
}
