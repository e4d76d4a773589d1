"""Whether this machine can hold what is asked for; asked before anything is allocated."""

import os

from nppac.utils.errors import UserError

USABLE = 0.7
"""Part of the machine's memory that one thing may take."""


def machine_memory() -> int:
    """Bytes of memory that this machine has."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def usable_memory() -> float:
    """Bytes of this machine's memory that one thing may take."""
    return USABLE * machine_memory()


def require_memory(needed: int, what: str, remedy: str) -> None:
    """Refuse what this machine cannot hold, before it stops responding."""
    usable = usable_memory()
    if needed > usable:
        raise UserError(
            f"{what} takes {needed / 1e9:,.1f} GB of memory, and this machine can spare "
            f"{usable / 1e9:.1f} GB. {remedy}"
        )
