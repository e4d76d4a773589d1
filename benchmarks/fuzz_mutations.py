"""Damage to files: bytes changed, left out, repeated, or replaced by what parsers stumble over."""

import random
from collections.abc import Mapping

Parts = Mapping[str, bytes]
"""A file, or the files or members that belong together, by their names."""
INTERESTING = (b"\0", b"\xff", b"\x7f", b"\x80", b"\xff" * 4, b"\xff" * 7 + b"\x7f", b"\0" * 8)
TEXTS = (b"-1", b"1e999", b"9" * 30, b"null", b"[]", b"{}", b'""', b"NaN", b"[[", b"\\ud800", b"O")


def damaged(rng: random.Random, data: bytes) -> bytes:
    """A few places changed, left out, repeated or replaced by what parsers stumble over."""
    changed = bytearray(data)
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        start = rng.randrange(len(changed) + 1)
        end = start + rng.choice((1, 1, 2, 4, 8, 20, 100))
        what = rng.randrange(12)
        if what < 5:
            changed[start : start + 1] = rng.randbytes(1)
        elif what < 8:
            word = rng.choice(INTERESTING if what < 7 else TEXTS)
            changed[start : start + len(word)] = word
        elif what == 8:
            changed[start:start] = changed[start:end]
        elif what == 9:
            del changed[start:end]
        elif what == 10:
            word = rng.choice(TEXTS)
            changed[start:start] = word
        else:
            del changed[start if rng.random() < 0.3 else len(changed) :]
    return bytes(changed)


def mutated(rng: random.Random, parts: Parts) -> Parts:
    """The sample with one part damaged, or without it."""
    name = rng.choice(sorted(parts))
    if len(parts) > 1 and rng.random() < 0.02:
        return {key: data for key, data in parts.items() if key != name}
    return {**parts, name: damaged(rng, parts[name])}
