"""Pickles put together by hand, operation by operation, as no pickler would write them."""

from struct import pack


def text(word: str) -> bytes:
    return b"X" + pack("<I", len(word)) + word.encode()


def raw(data: bytes) -> bytes:
    return b"B" + pack("<I", len(data)) + data


def number(value: int) -> bytes:
    return b"I%d\n" % value


def tuple_of(*parts: bytes) -> bytes:
    return b"(" + b"".join(parts) + b"t"


def list_of(*parts: bytes) -> bytes:
    return b"(" + b"".join(parts) + b"l"


def dict_of(**parts: bytes) -> bytes:
    return b"(" + b"".join(text(key) + value for key, value in parts.items()) + b"d"


def call(module: str, name: str, *args: bytes) -> bytes:
    return f"c{module}\n{name}\n".encode() + tuple_of(*args) + b"R"


def dtype(spec: str, order: str = "|") -> bytes:
    return call("numpy", "dtype", text(spec)) + tuple_of(number(3), text(order)) + b"b"


def bare_array() -> bytes:
    """An array that still lacks its state."""
    kind = b"cnumpy\nndarray\n"
    return call("numpy.core.multiarray", "_reconstruct", kind, tuple_of(number(0)), raw(b"b"))


def state(shape: tuple, spec: bytes, data: bytes) -> bytes:
    return tuple_of(number(1), tuple_of(*map(number, shape)), spec, b"\x89", data)


def array(shape: tuple, spec: bytes, data: bytes) -> bytes:
    return bare_array() + state(shape, spec, data) + b"b"


def from_buffer(data: bytes, spec: bytes, shape: bytes, *more: bytes) -> bytes:
    return call("numpy.core.numeric", "_frombuffer", data, spec, shape, *more)


def doubled(times: int, first: bytes, kind: bytes) -> bytes:
    """`first`, in pairs of pairs of pairs: a list (`l`) or tuple (`t`) of 2 ** times of them."""
    ops = first + b"r" + pack("<I", 100)
    for i in range(times):
        ops += b"0(" + (b"j" + pack("<I", 100 + i)) * 2 + kind + b"r" + pack("<I", 101 + i)
    return ops


def repeated(what: bytes, times: int) -> bytes:
    """A list that refers to one value again and again."""
    return b"(" + what + b"q\x00" + b"h\x00" * (times - 1) + b"l"


def called_again(module: str, name: str, args: bytes, times: int) -> bytes:
    """A list of calls that share one tuple of arguments."""
    again = b"h\x00h\x01R"
    function = f"c{module}\n{name}\nq\x00".encode()
    return b"(" + function + args + b"q\x01R" + again * (times - 1) + b"l"


def pickled(ops: bytes) -> bytes:
    return b"\x80\x02" + ops + b"."


def episode(observations: bytes, **others: bytes) -> bytes:
    """A file of one episode."""
    fields = {"actions": list_of(list_of(number(1))), "observations": observations, **others}
    return pickled(list_of(dict_of(**fields)))
