"""Files that are never half-written and never execute anything when read."""

import errno
import fcntl
import json
import os
import secrets
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

import numpy as np

from nppac.utils.checksum import (
    CHECKSUM,
    examine_seal,
    seal_archive,
    with_checksum,
    without_checksum,
)
from nppac.utils.errors import UserError

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


@contextmanager
def directory_lock(directory: str | Path) -> Iterator[None]:
    """Create a directory and keep other processes from claiming it; the system ends a dead claim.

    The lock is on the directory itself, so that nothing is left in it.
    """
    try:
        new = not Path(directory).exists()
        Path(directory).mkdir(parents=True, exist_ok=True)
        handle = os.open(directory, os.O_RDONLY)
    except OSError as error:
        raise UserError(
            f"Cannot use the directory {directory}: {error.strerror or error}."
        ) from error
    try:
        if new:
            sync_directory(Path(directory).resolve().parent)
        _lock(handle, directory)
        yield
    finally:
        os.close(handle)


def _lock(handle: int, directory: str | Path) -> None:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        raise UserError(
            f"Another process is at work on {directory}. Wait for it, or choose another directory."
        ) from error
    except OSError:  # a file system without locks is used without them
        pass


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


def write_json(path: str | Path, value: Any) -> None:
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
    save: Any = np.savez_compressed if compress else np.savez
    checked = with_checksum(named)

    def write(file: IO[bytes]) -> None:
        save(file, **checked)
        seal_archive(file)

    write_atomically(path, write, keep=keep)


def read_json(path: str | Path) -> Any:
    """Read a JSON file."""
    try:
        return json.loads(Path(path).read_text())
    except FileNotFoundError as error:
        raise UserError(f"There is no file {path}.") from error
    except (OSError, ValueError) as error:
        raise UserError(f"{path} cannot be read as JSON: {error}.") from error


def read_arrays(path: str | Path) -> dict[str, np.ndarray]:
    """Read every array of an npz file; refuses anything that would need pickle."""
    try:
        # Opened here: NumPy would leave the handle of a damaged archive open.
        with open(path, "rb") as file:
            seal = examine_seal(file, path)
            with np.load(file, allow_pickle=False) as archive:
                arrays = {name: archive[name] for name in archive.files}
        return without_checksum(path, arrays, seal)
    except UserError:
        raise
    except FileNotFoundError as error:
        raise UserError(f"There is no file {path}.") from error
    except (OSError, ValueError, EOFError, AttributeError, KeyError) as error:
        raise UserError(f"{path} cannot be read as an npz archive of arrays: {error}.") from error
    except Exception as error:  # zipfile.BadZipFile and zlib.error share no better base
        raise UserError(f"{path} is damaged: {error}.") from error
