"""Texts of a bounded length: longer ones are refused before a parser sees them."""

import os
import stat
from pathlib import Path

from nppac.utils.errors import UserError, nearest_path


def require_regular(path: str | Path) -> None:
    """Refuse a pipe, which would be waited for, and a device, which may have no end."""
    mode = os.stat(path).st_mode
    if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):  # who opens a directory complains
        raise UserError(f"{path} is no regular file.")


def read_bounded(path: str | Path, limit: int, kind: str) -> bytes:
    """What a file holds; of one that is too long one byte more than `limit`, and no further."""
    try:
        require_regular(path)
        with open(path, "rb") as file:
            return file.read(limit + 1)
    except FileNotFoundError as error:
        raise UserError(f"There is no file {path}.{nearest_path(path)}") from error
    except OSError as error:
        reason = error.strerror or error
        raise UserError(f"{path} cannot be read as {kind}: {reason}.") from error


def check_length(text: str | bytes, where: str, limit: int, kind: str) -> None:
    """Refuse a text that is too long; `where` names it."""
    if len(text) > limit:
        raise UserError(f"{where} is too long; at most {limit:,} bytes are read as {kind}.")
