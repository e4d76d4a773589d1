"""Pickles that would harm whoever believed them, by what they try."""

from .pickles import (
    array,
    bare_array,
    call,
    called_again,
    dict_of,
    doubled,
    dtype,
    episode,
    from_buffer,
    list_of,
    number,
    pickled,
    raw,
    repeated,
    state,
    text,
    tuple_of,
)

ADDRESSES = raw(b"A" * 32)
NDARRAY_OVER_ADDRESSES = (
    b"\x80\x03](}(X\x0c\0\0\0observationscnumpy\nndarray\n((K\x04tX\x01\0\0\0OB \0\0\0"
    + b"A" * 32
    + b"tRX\x07\0\0\0actions](](K\x01eeue."
)
BYTE_ARRAY = array((4,), dtype("u1"), raw(b"abcd"))
BIG = raw(b"\x01" * 20_000)
BIG_STATE = state((20_000,), dtype("u1"), BIG)
BIG_BUFFER = tuple_of(BIG, dtype("u1"), tuple_of(number(20_000)), text("C"))
SLOTS = b"(" + b"".join(number(2**40 * i) + b"N" for i in range(1, 2000)) + b"d"

# What bytes could be taken for objects, or objects be changed behind an array's back.
MEMORY = {
    "ndarray over addresses": NDARRAY_OVER_ADDRESSES,
    "ndarray over addresses, by NEWOBJ": NDARRAY_OVER_ADDRESSES.replace(b"tRX", b"t\x81X"),
    "objects from bytes": episode(array((4,), dtype("O"), ADDRESSES)),
    "objects from text": episode(array((4,), dtype("O8"), text("A" * 32))),
    "objects from a buffer": episode(
        from_buffer(ADDRESSES, dtype("O"), tuple_of(number(4)), text("C"))
    ),
    "object from a scalar": episode(
        call("numpy.core.multiarray", "scalar", dtype("O"), raw(b"A" * 8))
    ),
    "buffer of a list of objects": episode(
        from_buffer(list_of(number(1)), dtype("O"), tuple_of(number(1)), text("C"))
    ),
    "bytes written over objects": episode(
        from_buffer(array((4,), dtype("O"), list_of(*b"NNNN".split())), dtype("u8"), b")", b"N")
        + number(0)
        + number(1)
        + b"s"
    ),
    "item set in an array": episode(BYTE_ARRAY + number(0) + number(1) + b"s"),
    "item appended to an array": episode(BYTE_ARRAY + number(1) + b"a"),
    "state set twice": episode(BYTE_ARRAY + state((1,), dtype("u1"), raw(b"a")) + b"b"),
    "state set twice, by the memo": episode(
        b"("
        + bare_array()
        + b"q\x00"
        + state((1,), dtype("u1"), raw(b"a"))
        + b"bh\x00"
        + state((9,), dtype("u1"), raw(b"a" * 9))
        + b"bl"
    ),
    "state set behind a copy": episode(
        b"(" + bare_array() + b"2" + state((1,), dtype("u1"), raw(b"a")) + b"bl"
    ),
    "state of a view": episode(
        from_buffer(ADDRESSES, dtype("u8"), tuple_of(number(4)), text("C"))
        + state((1,), dtype("u1"), raw(b"a"))
        + b"b"
    ),
    "array without data": episode(bare_array()),
    "array of another class": episode(
        call("numpy.core.multiarray", "_reconstruct", text("ndarray"), b")", raw(b"b"))
        + state((1,), dtype("u1"), raw(b"a"))
        + b"b"
    ),
    "too few bytes": episode(array((4,), dtype("f8"), raw(b"A" * 31))),
    "too few bytes in a scalar": episode(
        call("numpy.core.multiarray", "scalar", dtype("f8"), raw(b"A"))
    ),
    "characters beyond the last": episode(array((1,), dtype("U1", "<"), raw(b"\xff" * 4))),
    "axes that are none": episode(
        from_buffer(raw(b"ab"), dtype("u1"), tuple_of(number(2)), text("K"), tuple_of(number(7)))
    ),
    "structured dtype": episode(array((1,), dtype("V8"), raw(b"A" * 8))),
    "dtype of subarrays": episode(array((1,), dtype("(9,)f8"), raw(b"A" * 8))),
    "dtype of no size": episode(array((10**12,), dtype("S0"), raw(b""))),
    "dtype with an order that is none": episode(array((1,), dtype("u1", "x"), raw(b"a"))),
    "dtype that is a list": episode(array((1,), list_of(), raw(b"a"))),
    "type as a value": episode(b"cnumpy\nndarray\n"),
}
# What takes far more memory or time than the file has bytes.
SIZE = {
    "place 2^31 of the memo": pickled(b"]r\xff\xff\xff\x7f"),
    "place 2^31 of the memo, as text": pickled(b"]p2147483647\n"),
    "place -1 of the memo": pickled(b"]p-1\n"),
    "bytes of 64 GB": pickled(b"\x96\0\0\0\0\x10\0\0\0x"),
    "size for bytes": episode(call("builtins", "bytes", number(10**10))),
    "rows of nothing": episode(array((2**40, 0), dtype("f8"), raw(b""))),
    "rows of nothing from a buffer": episode(
        from_buffer(raw(b""), dtype("f8"), tuple_of(number(2**40), number(0)), text("C"))
    ),
    "rows of no objects": episode(array((2**40, 0), dtype("O"), list_of())),
    "shape that overflows": episode(array((2**32, 2**32), dtype("f8"), raw(b""))),
    "shape with too many sides": episode(array((1,) * 200, dtype("u1"), raw(b"a"))),
    "huge integer": episode(b"\x8b\x00\x00\x10\x00" + b"\x7f" * 2**20),
    "huge integer, as text": episode(b"L" + b"9" * 4000 + b"L\n"),
    "huge integer as a shape": episode(
        bare_array()
        + tuple_of(tuple_of(b"\x8a\xff" + b"\x7f" * 255), dtype("u1"), b"\x89", raw(b"a"))
        + b"b"
    ),
    "tuples of tuples as a shape": episode(
        bare_array() + tuple_of(doubled(30, b")", b"t"), dtype("u1"), b"\x89", raw(b"a")) + b"b"
    ),
    "tuples of tuples as a dtype": episode(call("numpy", "dtype", doubled(30, b")", b"t"))),
    "lists of lists as observations": episode(doubled(30, list_of(number(1)), b"l")),
    "lists of lists as actions": episode(
        list_of(list_of(number(1))), actions=doubled(30, list_of(number(1)), b"l")
    ),
    "lists of lists as rewards": episode(
        list_of(list_of(number(1))), rewards=doubled(30, list_of(number(1)), b"l")
    ),
    "lists of lists as terminals": episode(
        list_of(list_of(number(1))), terminals=doubled(30, list_of(number(1)), b"l")
    ),
    "lists of lists as successes": episode(
        list_of(list_of(number(1))),
        env_infos=dict_of(goal_achieved=doubled(30, list_of(number(1)), b"l")),
    ),
    "one row many times": episode(repeated(bare_array() + BIG_STATE + b"b", 20_000)),
    "one episode many times": pickled(
        repeated(
            dict_of(observations=bare_array() + BIG_STATE + b"b", actions=list_of(list_of(b"N"))),
            20_000,
        )
    ),
    "one buffer for many arrays": episode(
        called_again("numpy.core.numeric", "_frombuffer", BIG_BUFFER, 20_000)
    ),
    "one text for many bytes": episode(
        called_again("_codecs", "encode", tuple_of(text("x" * 20_000), text("latin1")), 20_000)
    ),
    "one list for many sets": episode(
        called_again("builtins", "set", tuple_of(list_of(*[number(1)] * 20_000)), 20_000)
    ),
    "one tuple for many calls": episode(
        called_again("numpy", "dtype", tuple_of(*[number(1)] * 20_000), 20_000)
    ),
    "deep lists": episode(b"]" * 100_000 + b"a" * 99_999),
    "deep tuples": episode(b")" + b"\x85" * 100_000),
    "deep dicts": episode((b"(" + text("a")) * 100_000 + b"N" + b"d" * 100_000),
    "deep by shared parts": episode(doubled(100, b")", b"t")),
    "lists without end": pickled(b"(" + b"]" * 1_000_000 + b"l"),
    "sets without end": pickled(b"(" + b"\x8f" * 1_000_000 + b"l"),
    "marks without end": pickled(b"(" * 100_000),
    "keys that may collide": episode(SLOTS),
}
ODD = {
    "list that holds itself": pickled(b"]q\x00h\x00a"),
    "tuple that holds itself": pickled(b"]q\x00h\x00\x85a"),
    "dict that holds itself": pickled(b"}q\x00" + text("a") + b"h\x00s"),
    "array that holds itself": episode(
        bare_array() + state((1,), dtype("O"), b"]q\x00(h\x00e") + b"b"
    ),
    "list as a key": episode(b"(]Nd"),
    "dict as a key": episode(b"(}Nd"),
    "tuple as a key": episode(b"()Nd"),
    "array as a key": episode(b"(" + BYTE_ARRAY + b"Nd"),
    "float as a key": episode(b"(F1.5\nNd"),
    "nothing as a key": episode(b"(NNd"),
    "list in a set": episode(b"\x8f(]\x90"),
    "key without value": episode(b"(Nd"),
    "call of a value": episode(text("print") + b")R"),
    "call without a tuple": episode(b"cnumpy\ndtype\n" + text("f8") + b"R"),
    "call with too few arguments": episode(call("_codecs", "encode")),
    "name that is no text": episode(b"K\x01K\x02\x93"),
    "name with lines": episode(text("os\n\x1b[2J") + text("sys'tem") + b"\x93"),
    "key with lines": pickled(list_of(b"(" + text("a\nb\x1b[2J") + b"Nd")),
    "nothing at the end": b"\x80\x02.",
    "no end": b"\x80\x02]",
    "value from an empty stack": pickled(b"R"),
    "mark that is missing": pickled(b"t"),
    "memo that is empty": pickled(b"h\x00"),
    "quote of everything": pickled(b"S" + b"A" * 10_000 + b"\n"),
    "persistent id": pickled(b"P1\n"),
    "persistent id from the stack": pickled(b"NQ"),
    "extension": pickled(b"\x82\x01"),
    "instance": pickled(b"(ios\nsystem\n"),
    "object": pickled(b"(cnumpy\ndtype\no"),
    "object with keywords": pickled(b"cnumpy\ndtype\n)}\x92"),
    "buffer from elsewhere": pickled(b"\x97"),
    "buffer made constant": pickled(raw(b"a") + b"\x98"),
    "operation that is none": pickled(b"\xff"),
}
HOSTILE = MEMORY | SIZE | ODD
