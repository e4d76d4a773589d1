"""Checksums inside npz files: a file that was changed is noticed when it is read.

There are two. The array `checksum` is the SHA-256 of all other arrays; it survives a tool that
rewrites the archive. The archive's comment, the seal, is the SHA-256 of every byte before it; it
also covers the bytes that hold no array. Readers that know of neither are not disturbed.
"""

import hashlib
import os
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import IO, Literal

import numpy as np

from nppac.utils.errors import UserError

CHECKSUM = "checksum"
"""The name of the array that holds the checksum of the others."""
UNCHECKED_VARIABLE = "NPPAC_UNCHECKED_FILES"
"""Environment variable: 1 accepts files that have no checksum."""
_MARK = b"nppac sha256 "
_SEAL_BYTES = len(_MARK) + 64
_END = b"PK\x05\x06"
_END_BYTES = 22  # of a zip archive's last record, when no comment follows
_CHUNK = 1 << 20

Seal = Literal["valid", "none", "foreign"]
"""What stands at an archive's end: our seal, nothing, or something else."""


def arrays_digest(arrays: Mapping[str, np.ndarray]) -> str:
    """SHA-256 over names, types, shapes and contents, in the order of the names."""
    total = hashlib.sha256()
    for name in sorted(arrays):
        array = np.asarray(arrays[name])
        total.update(f"{name}\0{array.dtype.str}\0{array.shape}\0".encode())
        if array.nbytes:
            total.update(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)
    return total.hexdigest()


def with_checksum(arrays: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The arrays and, as one more, their checksum."""
    return {**arrays, CHECKSUM: np.asarray(arrays_digest(arrays))}


def seal_archive(file: IO[bytes]) -> None:
    """Append the SHA-256 of a finished zip archive to it, as its comment."""
    file.seek(-2, 2)  # the length of the comment, which is 0 so far
    file.write(_SEAL_BYTES.to_bytes(2, "little"))
    file.seek(0, 2)
    seal = _MARK + _file_digest(file, file.tell()).encode()
    file.seek(0, 2)
    file.write(seal)


def examine_seal(file: IO[bytes], path: str | Path) -> Seal:
    """What seal an open archive has; one that does not fit its contents is an error."""
    size = file.seek(0, 2)
    file.seek(max(0, size - _END_BYTES - _SEAL_BYTES))
    tail = file.read()
    if tail[-_END_BYTES:].startswith(_END) and tail.endswith(b"\0\0"):  # no comment
        found: Seal = "none"
    elif len(tail) < _END_BYTES + _SEAL_BYTES or not tail.startswith(_END):
        found = "foreign"
    elif tail[_END_BYTES:] == _MARK + _file_digest(file, size - _SEAL_BYTES).encode():
        found = "valid"
    else:
        raise _changed(path)
    file.seek(0)
    return found


def without_checksum(
    path: str | Path, arrays: Mapping[str, np.ndarray], seal: Seal
) -> dict[str, np.ndarray]:
    """The arrays of a file but their checksum, which is verified where the seal was not."""
    rest = {name: array for name, array in arrays.items() if name != CHECKSUM}
    if CHECKSUM not in arrays or seal == "valid":
        return rest
    if seal == "foreign" or str(arrays[CHECKSUM]) != arrays_digest(rest):
        raise _changed(path)
    return rest


def require_checksum(path: str | Path, names: Collection[str]) -> None:
    """Refuse a file whose arrays have no checksum among them, unless the user accepts such files.

    What nppac writes has one. Only its first files, of before there were any, have none.
    """
    if CHECKSUM not in names and os.environ.get(UNCHECKED_VARIABLE) != "1":
        raise UserError(
            f"{path} has no checksum, so that damage to it would go unnoticed: it was removed, or "
            "another program wrote the file. Restore a copy of it, or make it again. If an older "
            f"version of nppac wrote it, {UNCHECKED_VARIABLE}=1 reads it."
        )


def _file_digest(file: IO[bytes], size: int) -> str:
    """SHA-256 of the first `size` bytes."""
    file.seek(0)
    total = hashlib.sha256()
    while size > 0:
        part = file.read(min(_CHUNK, size))
        if not part:
            break
        total.update(part)
        size -= len(part)
    return total.hexdigest()


def _changed(path: str | Path) -> UserError:
    return UserError(
        f"{path} is damaged: its contents do not fit its checksum, so that it was changed after "
        "it was written. Restore a copy of it, or make it again."
    )
