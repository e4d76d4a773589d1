"""Errors that are the user's to mend: each names the thing, the expectation and the remedy."""

import difflib
from collections.abc import Iterable
from pathlib import Path

from nppac.utils.text import printable

MOST_LISTED = 250
"""Characters of a list of names that an error shows in full."""
LONGEST_NAME = 100
"""Characters of a name from a file that an error shows, and compares with those that are known."""
NEAREST = 8
"""Names that it shows of a longer one."""


class UserError(Exception):
    """A mistake in what the program was given; the command line prints it without a traceback.

    Messages quote files, and a file may hold what commands a terminal: that is escaped here.
    """

    keep = ""
    """Characters that are left as they are, although they do not print."""

    def __init__(self, message: str = ""):
        super().__init__(printable(message, self.keep))


def check_seed(seed: int) -> None:
    """Refuse a seed that a random generator would refuse, or take for another."""
    if not 0 <= seed < 2**32:
        raise UserError(f"'seed' is {seed}; it must be at least 0 and less than 2^32.")


def unknown_name(kind: str, name: str, valid: Iterable[str]) -> UserError:
    """The error for a name that is not among `valid`, with the nearest one suggested.

    Of many names only those are listed that are most like it.
    """
    names, name = sorted(valid), name[:LONGEST_NAME]
    near = difflib.get_close_matches(name, names, n=1)
    hint = f" Did you mean '{near[0]}'?" if near else ""
    listed = ", ".join(names)
    if len(listed) > MOST_LISTED:
        like = difflib.get_close_matches(name, names, n=NEAREST, cutoff=0.0)
        listed = f"{', '.join(like)} and {len(names) - NEAREST} more"
    return UserError(f"Unknown {kind} '{name}'.{hint} Known: {listed}.")


def nearest_path(path: str | Path) -> str:
    """A hint at what lies where `path` should be and is called nearly so; empty if nothing is."""
    path = Path(path)
    if path.exists():
        return " It is a file." if path.is_file() else ""
    beside = [entry.name for entry in path.parent.iterdir()] if path.parent.is_dir() else []
    near = difflib.get_close_matches(path.name, beside, n=1)
    return f" Did you mean '{path.with_name(near[0])}'?" if near else ""
