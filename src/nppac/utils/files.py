"""Files that are never half-written and never execute anything when read."""

import errno
import json
import os
import secrets
import zipfile
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from pathlib import Path
from typing import IO

import numpy as np

from nppac.utils.bounded import read_bounded, require_regular
from nppac.utils.budget import Budget
from nppac.utils.checksum import (
    CHECKSUM,
    examine_seal,
    require_checksum,
    seal_archive,
    with_checksum,
    without_checksum,
)
from nppac.utils.errors import UserError
from nppac.utils.json_reader import LIMIT, parse_json
from nppac.utils.npz_reader import Archive
from nppac.utils.plain_arrays import explained
from nppac.utils.text import shown

TEMPORARY = ".unfinished"
"""How the name of a file ends while it is being written."""


def write_atomically(
    path: str | Path, write: Callable[[IO[bytes]], object], *, keep: Path | None = None
) -> None:
    """Write beside `path` and rename over it, so that a reader sees the old file or the new one.

    `keep` is where the old file stays once the new one is complete. File and directory are synced,
    so that a power failure finds either, too.
    """
    path = Path(path)
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}{TEMPORARY}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with open(temporary, "x+b") as file:
            write(file)
            file.flush()
            os.fsync(file.fileno())
        if keep is not None and path.exists():
            _keep(path, keep)
        os.replace(temporary, path)
    except OSError as error:
        _discard(temporary)
        raise UserError(
            f"Cannot write {path}: {error.strerror or error}. Nothing there was changed; "
            "free some space or choose another place."
        ) from error
    except BaseException:
        _discard(temporary)
        raise
    sync_directory(path.parent)


def _keep(path: Path, keep: Path) -> None:
    """Let the file also have the name `keep`; at no moment does `path` not exist, if it can be."""
    if keep.exists() and keep.samefile(path):  # kept by a write that failed after this
        return  # a rename between two names of one file does nothing, and both would stay
    link = keep.with_name(f".{keep.name}.{secrets.token_hex(4)}{TEMPORARY}")
    try:
        os.link(path, link)
    except OSError:  # a file system without hard links
        os.replace(path, keep)
        return
    try:
        os.replace(link, keep)
    except OSError:
        _discard(link)
        raise


def _discard(temporary: Path) -> None:
    with suppress(OSError):  # what is left behind is removed when the run is resumed
        temporary.unlink(missing_ok=True)


def append_durably(path: str | Path, text: str) -> None:
    """Append to a file, and see it to the disk."""
    try:
        with open(path, "ab") as file:
            file.write(text.encode())
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        raise UserError(f"Cannot append to {path}: {error.strerror or error}.") from error


def sync_directory(directory: Path) -> None:
    """See the names of a directory's files to the disk, where the system lets directories sync."""
    try:
        handle = os.open(directory, os.O_RDONLY)
    except OSError:
        return  # a directory that may be written and not listed
    try:
        os.fsync(handle)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):
            raise UserError(
                f"The disk did not confirm what was written to {directory}: "
                f"{error.strerror or error}. Check the disk, then resume."
            ) from error
    finally:
        os.close(handle)


def remove_file(path: Path) -> None:
    """Delete a file."""
    try:
        path.unlink()
    except OSError as error:
        raise UserError(f"Cannot delete {path}: {error.strerror or error}.") from error


def remove_leftovers(directory: str | Path) -> None:
    """Delete the unfinished files that killed processes left in a directory."""
    for leftover in filter(is_leftover, Path(directory).iterdir()):
        _discard(leftover)


def is_leftover(path: Path) -> bool:
    """Whether a file is what a killed process did not finish writing."""
    return path.name.startswith(".") and path.name.endswith(TEMPORARY)


def write_json(path: str | Path, value: object) -> None:
    """Write `value` as indented JSON, atomically."""
    text = json.dumps(value, indent=2, sort_keys=False) + "\n"
    write_atomically(path, lambda file: file.write(text.encode()))


def write_arrays(
    path: str | Path,
    arrays: Mapping[str, np.ndarray],
    *,
    compress: bool = False,
    keep: Path | None = None,
) -> None:
    """Write named arrays as npz with a checksum, atomically and without pickle."""
    named = {name: np.asarray(array) for name, array in arrays.items() if name != CHECKSUM}
    for name, array in named.items():
        if array.dtype.hasobject:
            raise TypeError(f"array '{name}' holds Python objects, which an npz would pickle")
    save: Callable[..., None] = np.savez_compressed if compress else np.savez
    checked = with_checksum(named)

    def write(file: IO[bytes]) -> None:
        save(file, **checked)
        seal_archive(file)

    write_atomically(path, write, keep=keep)


def read_json(path: str | Path) -> object:
    """Read a JSON file of bounded size and depth."""
    return parse_json(read_bounded(path, LIMIT, "JSON"), str(path))


def read_json_object(path: str | Path) -> dict[str, object]:
    """Read a JSON file that must hold an object."""
    stored = read_json(path)
    if not isinstance(stored, dict):
        raise UserError(f"{path} must hold a JSON object, not {shown(stored)}.")
    return stored


def read_arrays(
    path: str | Path,
    names: Collection[str] | None = None,
    limit: int | None = None,
    *,
    checked: bool = False,
) -> dict[str, np.ndarray]:
    """Read arrays of numbers and text from an npz file; refuses anything that would need pickle.

    Of the arrays `names` those are read that are there; None means all. More than `limit` bytes
    are refused before anything is unpacked; None means 1 GiB, or the file's own size. With
    `checked`, so is a file without a checksum.
    """
    try:
        require_regular(path)
        with open(path, "rb") as file:
            seal = examine_seal(file, path)
            with zipfile.ZipFile(file) as opened:
                archive = Archive(path, opened)
                present = archive.names()
                if checked:
                    require_checksum(path, present)
                # A checksum without a seal is of all arrays: then all must be read.
                whole = names is None or (CHECKSUM in present and seal != "valid")
                wanted = [name for name in present if whole or name in (names or ())]
                arrays = archive.read(wanted, Budget(path, limit))
        arrays = without_checksum(path, arrays, seal)
        return {name: arrays[name] for name in arrays if names is None or name in names}
    except FileNotFoundError as error:
        raise UserError(f"There is no file {path}.") from error
    except UserError:
        raise
    except Exception as error:  # zipfile and zlib share no better base
        raise UserError(
            f"{path} cannot be read as an npz archive of arrays: {explained(error)}."
        ) from error
