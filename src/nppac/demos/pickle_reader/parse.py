"""Parse a pickle into inert nodes.

A pickle is a program for a stack machine. Here the machine only notes down what the program asks
for; `pickle_values` decides afterwards what of that is an array.
"""

import pickletools
from collections.abc import Callable
from typing import Any

from nppac.demos.pickle_reader.nodes import Built, Call, Items, Token, token
from nppac.utils.errors import UserError

_MOST_ARGUMENTS = 16
"""What NumPy's own calls and states need at most; one tuple may serve any number of them."""
_BYTES_PER_CONTAINER = 8
"""One byte of a file can make a list of a hundred; lists with something in them are longer."""
_SPARE_CONTAINERS = 2**16


class _Machine:
    """The stack, the stacks below each open mark, and the memo."""

    def __init__(self, places: int) -> None:
        self.stack: list[object] = []
        self.below: list[list[object]] = []
        self.memo: dict[int, object] = {}
        self.built: dict[int, Built] = {}
        """By the id of its call, which the memo goes on to hold."""
        self.places = places

    def since_mark(self) -> list[object]:
        """Everything above the last mark, which is taken away with it."""
        items, self.stack = self.stack, self.below.pop()
        return items

    def last(self, count: int) -> tuple[object, ...]:
        """The last `count` values, taken away."""
        if len(self.stack) < count:
            raise ValueError("a value is missing")
        items = tuple(self.stack[-count:])
        del self.stack[-count:]
        return items

    def put(self, place: int) -> None:
        """Note the last value; a place beyond the file's length is none that its writer chose."""
        if not 0 <= place <= self.places:
            raise ValueError(f"entry {place} in {self.places} bytes")
        self.memo[place] = self.stack[-1]

    def get(self, place: int) -> None:
        """Push what was noted, with the state that it may have been given since."""
        if place not in self.memo:
            raise ValueError(f"entry {place} is used but was never made")
        found = self.memo[place]
        self.stack.append(self.built.get(id(found), found))


def parse_pickle(data: bytes) -> object:
    """The value that a pickle describes, in nodes and plain Python values."""
    machine = _Machine(len(data))
    containers = len(data) // _BYTES_PER_CONTAINER + _SPARE_CONTAINERS
    for opcode, argument, _ in pickletools.genops(data):
        containers -= opcode.name in _COUNTED
        if containers < 0:
            raise UserError("it holds more lists and tuples than demonstrations of its size would.")
        step = _STEPS.get(opcode.name)
        if step is None:
            raise UserError(f"refused the pickle operation {opcode.name}: arrays need none.")
        step(machine, argument)
    return machine.last(1)[0]


def _push(machine: _Machine, value: object) -> None:
    machine.stack.append(value)


def _push_integer(machine: _Machine, value: int) -> None:
    # Longer ones are slow to print and to calculate with, and no array holds them.
    if value.bit_length() > 64:
        raise ValueError(f"an integer of {value.bit_length()} bits")
    machine.stack.append(value)


def _mark(machine: _Machine, _: object) -> None:
    machine.below.append(machine.stack)
    machine.stack = []


def _pop(machine: _Machine, _: object) -> None:
    if machine.stack:
        machine.stack.pop()
    else:  # what is on top is a mark
        machine.since_mark()


def _pop_mark(machine: _Machine, _: object) -> None:
    machine.since_mark()


def _push_tuple(count: int) -> Callable[[_Machine, object], None]:
    return lambda machine, _: machine.stack.append(machine.last(count))


def _append(machine: _Machine, items: list[object]) -> None:
    target = machine.stack[-1]
    if type(target) is not list:
        raise ValueError("entries are added to what is no list")
    target.extend(items)


def _set_items(machine: _Machine, items: list[object]) -> None:
    _add(machine, "dict", _paired(items))


def _add(machine: _Machine, kind: str, items: list[object]) -> None:
    target = machine.stack[-1]
    if type(target) is not Items or target.kind != kind:
        raise ValueError(f"entries are added to what is no {kind}")
    target.entries.extend(items)


def _paired(items: list[object]) -> list[object]:
    if len(items) % 2:
        raise ValueError("a key has no value")
    return items


def _call(machine: _Machine, _: object) -> None:
    function, args = machine.last(2)
    if type(function) is not Token or type(args) is not tuple or len(args) > _MOST_ARGUMENTS:
        raise UserError("refused a call that no array is made by.")
    # This one is filled like a dict, after the call.
    filled_later = function.name == "OrderedDict" and not args
    machine.stack.append(Items("dict", []) if filled_later else Call(function, args))


def _build(machine: _Machine, _: object) -> None:
    target, state = machine.last(2)
    if type(target) is not Call or id(target) in machine.built:
        raise UserError("refused to set the state of what is no new array.")
    if type(state) is not tuple or len(state) > _MOST_ARGUMENTS:
        raise UserError("refused a state that is not an array's.")
    machine.built[id(target)] = Built(target, state)
    machine.stack.append(machine.built[id(target)])


_COUNTED = frozenset(
    (
        *("EMPTY_LIST", "LIST", "EMPTY_DICT", "DICT", "EMPTY_SET", "FROZENSET"),
        *("TUPLE", "TUPLE1", "TUPLE2", "TUPLE3", "REDUCE", "NEWOBJ", "BUILD"),
    )
)
_INTEGERS = ("INT", "BININT", "BININT1", "BININT2", "LONG", "LONG1", "LONG4")
# Text of Python 2 is read as latin1, which is how its arrays keep their bytes.
_LITERALS = (
    *("FLOAT", "BINFLOAT", "STRING", "BINSTRING", "SHORT_BINSTRING"),
    *("UNICODE", "SHORT_BINUNICODE", "BINUNICODE", "BINUNICODE8"),
    *("SHORT_BINBYTES", "BINBYTES", "BINBYTES8"),
)
# The second is what pickletools found beside the operation, whose type depends on it.
_Step = Callable[[_Machine, Any], None]
_STEPS: dict[str, _Step] = {
    **dict.fromkeys(("PROTO", "FRAME", "STOP"), lambda m, _: None),
    **dict.fromkeys(_INTEGERS, _push_integer),
    **dict.fromkeys(_LITERALS, _push),
    "BYTEARRAY8": lambda m, value: m.stack.append(bytes(value)),
    "NONE": lambda m, _: m.stack.append(None),
    "NEWTRUE": lambda m, _: m.stack.append(True),
    "NEWFALSE": lambda m, _: m.stack.append(False),
    "MARK": _mark,
    "POP": _pop,
    "POP_MARK": _pop_mark,
    "DUP": lambda m, _: m.stack.append(m.stack[-1]),
    **dict.fromkeys(("PUT", "BINPUT", "LONG_BINPUT"), _Machine.put),
    "MEMOIZE": lambda m, _: m.put(len(m.memo)),
    **dict.fromkeys(("GET", "BINGET", "LONG_BINGET"), _Machine.get),
    "EMPTY_TUPLE": lambda m, _: m.stack.append(()),
    "TUPLE1": _push_tuple(1),
    "TUPLE2": _push_tuple(2),
    "TUPLE3": _push_tuple(3),
    "TUPLE": lambda m, _: _push(m, tuple(m.since_mark())),
    "EMPTY_LIST": lambda m, _: m.stack.append([]),
    "LIST": lambda m, _: _push(m, m.since_mark()),
    "APPEND": lambda m, _: _append(m, list(m.last(1))),
    "APPENDS": lambda m, _: _append(m, m.since_mark()),
    "EMPTY_DICT": lambda m, _: m.stack.append(Items("dict", [])),
    "DICT": lambda m, _: _push(m, Items("dict", _paired(m.since_mark()))),
    "SETITEM": lambda m, _: _set_items(m, list(m.last(2))),
    "SETITEMS": lambda m, _: _set_items(m, m.since_mark()),
    "EMPTY_SET": lambda m, _: m.stack.append(Items("set", [])),
    "ADDITEMS": lambda m, _: _add(m, "set", m.since_mark()),
    "FROZENSET": lambda m, _: _push(m, Items("frozenset", m.since_mark())),
    "GLOBAL": lambda m, pair: m.stack.append(token(*pair.split(" ", 1))),
    "STACK_GLOBAL": lambda m, _: m.stack.append(token(*m.last(2))),
    **dict.fromkeys(("REDUCE", "NEWOBJ"), _call),
    "BUILD": _build,
}
