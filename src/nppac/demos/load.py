"""Find out what a file is by looking into it, and read it."""

import difflib
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from nppac.demos.data import Demos
from nppac.demos.embedded import embedded_names, load_embedded
from nppac.demos.formats.awac import read_awac
from nppac.demos.formats.d4rl import read_d4rl
from nppac.demos.formats.dapg import read_dapg
from nppac.demos.formats.minari import (
    find_minari_data,
    is_minari_id,
    read_minari_id,
    read_minari_path,
)
from nppac.demos.formats.npz import read_npz, save_demos
from nppac.demos.metadata import ENV_ID, checked_env_id
from nppac.demos.validate import validate
from nppac.utils.errors import UserError

_READABLE = "npz, a Minari dataset, D4RL HDF5, a DAPG pickle or an AWAC npy"


def load_demos(path_or_id: str | Path) -> Demos:
    """Load demonstrations from a file, an embedded name such as `door`, or a Minari dataset id.

    The first of these that exists is taken: a file or dataset directory of that name, an embedded
    set, a dataset in the local Minari store.
    """
    name = os.fspath(path_or_id)
    path = Path(name)
    if is_embedded(name):
        return load_embedded(name)
    if _exists(path):
        return _load_path(path)
    demos = read_minari_id(name) if is_minari_id(name) else None
    if demos is None:
        raise _not_found(name)
    return demos


def is_embedded(name: str) -> bool:
    """Whether `name` means an embedded set: a directory of other things may be called so too."""
    path = Path(name)
    return name in embedded_names() and not path.is_file() and find_minari_data(path) is None


def convert(source: str | Path, target: str | Path, env_id: str | None = None) -> list[str]:
    """Load, validate and save as npz; returns what validation had to mend.

    `env_id` takes the place of the environment that the file names, where that is another name of
    the same one.
    """
    demos, notes = validate(load_demos(source))
    if env_id is not None:
        own = checked_env_id("The new file", env_id)
        demos = replace(demos, metadata={**demos.metadata, ENV_ID: own})
    save_demos(target, demos)
    return notes


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except OSError as error:
        raise _unreadable(path, error) from error
    except ValueError:  # a null byte, which no file's name has
        return False


def _load_path(path: Path) -> Demos:
    try:
        if path.is_dir():
            return _load_directory(path)
        if not path.is_file():
            raise UserError(f"{path} is no regular file; give one that holds demonstrations.")
        return _reader(path)(path)
    except OSError as error:
        raise _unreadable(path, error) from error


def _load_directory(path: Path) -> Demos:
    data = find_minari_data(path)
    if data is None:
        raise UserError(
            f"{path} is a directory without a Minari dataset in it; give the file that holds the "
            "demonstrations."
        )
    return read_minari_path(data)


def _reader(path: Path) -> Callable[[Path], Demos]:
    """The reader for what the first bytes say; the file's extension is not asked."""
    with path.open("rb") as file:
        head = file.read(64)
    for magic, reader in _MAGIC:
        if head.startswith(magic):
            return reader
    raise _unknown_format(path, head)


def _read_hdf5(path: Path) -> Demos:
    """HDF5 is D4RL's, unless it lies beside Minari's metadata."""
    data = find_minari_data(path.parent) if path.name == "main_data.hdf5" else None
    return read_d4rl(path) if data is None else read_minari_path(data)


_MAGIC: tuple[tuple[bytes, Callable[[Path], Demos]], ...] = (
    (b"PK\x03\x04", read_npz),
    (b"PK\x05\x06", read_npz),
    (b"\x89HDF\r\n\x1a\n", _read_hdf5),
    (b"\x93NUMPY", read_awac),
    *((bytes([0x80, protocol]), read_dapg) for protocol in (2, 3, 4, 5)),
    # The oldest two protocols have no header: these are the beginnings of a list.
    (b"(lp", read_dapg),
    (b"]q", read_dapg),
)

_HINTS: tuple[tuple[bytes, str], ...] = (
    (b"\x1f\x8b", "It is compressed with gzip: unpack it first."),
    (b"version https://git-lfs", "It is a Git LFS pointer: fetch the file itself (git lfs pull)."),
    (b"<", "It looks like a web page: the download may have failed."),
)


def _unknown_format(path: Path, head: bytes) -> UserError:
    if not head:
        return UserError(f"{path} is empty; fetch or write it again.")
    hint = next((text for magic, text in _HINTS if head.startswith(magic)), "")
    return UserError(f"{path} is in no known format (expected {_READABLE}). {hint}".rstrip())


def _unreadable(path: Path, error: OSError) -> UserError:
    return UserError(f"Cannot read {path}: {error.strerror or error}.")


def _not_found(name: str) -> UserError:
    names = embedded_names()
    near = difflib.get_close_matches(name, names, n=1)
    suggestion = f" Did you mean '{near[0]}'?" if near else ""
    minari = f"nor a Minari dataset in the local store (fetch one with: minari download {name})"
    return UserError(
        f"No demonstrations '{name}': there is no such file, no embedded set of that name "
        f"(embedded: {', '.join(names) or 'none'}), "
        f"{minari if is_minari_id(name) else 'and it is not a Minari id like D4RL/door/human-v2'}."
        f"{suggestion}"
    )
