"""Text from files in messages: one short line that a terminal shows as it is."""

import reprlib
from collections.abc import Iterable


def printable(text: str, keep: str = "") -> str:
    """The text with what a terminal would obey, or cannot show, written as an escape."""
    if text.isprintable():
        return text
    return "".join(
        c if c.isprintable() or c in keep else c.encode("unicode_escape").decode() for c in text
    )


def brief(error: Exception, length: int = 150) -> str:
    """One short line of what an error says, which may quote all of a file."""
    text = printable(" ".join(str(error)[:length].split()))
    return text or type(error).__name__


def shown(value: object) -> str:
    """A value as one short line."""
    line = " ".join(reprlib.repr(value).split())
    return line if len(line) <= 80 else f"{line[:80]}..."


def listed(names: Iterable[object]) -> str:
    """Names on one line; a file may hold any number of them, of any text."""
    found = list(names)
    safe = [name if isinstance(name, str) and name.isprintable() else repr(name) for name in found]
    return ", ".join(name[:40] for name in safe[:20]) + (", ..." if len(safe) > 20 else "")
