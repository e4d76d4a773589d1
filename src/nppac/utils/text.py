"""Text from files in messages: one short line that a terminal shows as it is."""

import reprlib
from collections.abc import Iterable


def brief(error: Exception, length: int = 150) -> str:
    """One short line of what an error says, which may quote all of a file."""
    text = " ".join(str(error)[:length].split())
    return text if text.isprintable() and text else type(error).__name__


def shown(value: object) -> str:
    """A value as one short line."""
    line = " ".join(reprlib.repr(value).split())
    return line if len(line) <= 80 else f"{line[:80]}..."


def listed(names: Iterable[object]) -> str:
    """Names on one line; a file may hold any number of them, of any text."""
    found = list(names)
    safe = [name if isinstance(name, str) and name.isprintable() else repr(name) for name in found]
    return ", ".join(name[:40] for name in safe[:20]) + (", ..." if len(safe) > 20 else "")
