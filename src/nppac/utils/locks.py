"""Directories that one process at a time writes to."""

import errno
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from filelock import FileLock, Timeout

from nppac.utils.errors import UserError

LOCK_FILE = ".lock"
"""A file that is in the directory while it is claimed; what is left of a killed process is void."""
NO_LOCKS = (errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOTSUP, errno.ENOSYS, errno.EINVAL)
"""What a file system without locks answers."""


class DirectoryInUse(UserError):
    """A directory that another process is at work on."""


@contextmanager
def directory_lock(directory: str | Path) -> Iterator[None]:
    """Create a directory and keep other processes from claiming it; the system ends a dead claim.

    A file system without locks is used without them.
    """
    path = Path(directory) / LOCK_FILE
    lock = FileLock(path, blocking=False)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        lock.acquire()
    except Timeout as error:
        raise DirectoryInUse(
            f"Another process is at work on {directory}. Wait for it, or choose another directory."
        ) from error
    except OSError as error:
        if error.errno not in NO_LOCKS:
            raise _unusable(directory, error) from error
    try:
        yield
    finally:
        # Before the release, so that nobody's file but ours goes; a lock on a file that is gone is
        # none to filelock. Windows keeps an open file, and its lock removes its own.
        with suppress(OSError):
            path.unlink()
        lock.release()


def check_writable(directory: str | Path) -> None:
    """Refuse a directory that cannot be made or written to, and leave nothing behind."""
    place = Path(directory)
    try:
        while not place.exists():
            place = place.parent
        with tempfile.TemporaryFile(dir=place):
            pass
    except OSError as error:
        raise _unusable(directory, error) from error


def check_output(path: str | Path) -> None:
    """Refuse a file that cannot be written, before what it shall hold is made."""
    if Path(path).is_dir():
        raise UserError(f"{path} is a directory; give the name of a file.")
    check_writable(Path(path).parent)


def _unusable(directory: str | Path, error: OSError) -> UserError:
    return UserError(f"Cannot use the directory {directory}: {error.strerror or error}.")


def is_locked(directory: str | Path) -> bool:
    """Whether a process has claimed the directory just now; nothing is created."""
    path = Path(directory) / LOCK_FILE
    if not path.exists():
        return False
    lock = FileLock(path, blocking=False)
    try:
        lock.acquire()
    except Timeout:
        return True
    except OSError:
        return False
    lock.release()
    return False
