"""Reads npz archives member by member, each checked before it is unpacked."""

import zipfile
from collections.abc import Collection
from pathlib import Path

import numpy as np

from nppac.utils.budget import Budget
from nppac.utils.plain_arrays import (
    NotPlain,
    byte_count,
    plain_dtype,
    read_header,
    read_plain,
)
from nppac.utils.text import listed

_SUFFIX = ".npy"
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_ENCRYPTED = 0x1
_SINGLE = 4
"""Bytes of a float32."""


class Archive:
    """The members of an open npz file."""

    def __init__(self, path: str | Path, archive: zipfile.ZipFile) -> None:
        self._path = path
        self._archive = archive
        self._members = {info.filename.removesuffix(_SUFFIX): info for info in archive.infolist()}
        if len(self._members) < len(archive.infolist()):
            raise NotPlain("two of its arrays have one name")

    def names(self) -> list[str]:
        """The names of the arrays."""
        return list(self._members)

    def read(self, names: Collection[str], budget: Budget) -> dict[str, np.ndarray]:
        """The arrays of these names; the space that they claim is checked before any is read."""
        for name in names:
            _check_member(name, self._members[name])
            budget.take(self._members[name].file_size, f"'{name}'")
        return {name: self._read_one(name, budget) for name in names}

    def _read_one(self, name: str, budget: Budget) -> np.ndarray:
        info = self._members[name]
        try:
            with self._archive.open(info) as stream:
                header = read_header(stream)
                dtype = plain_dtype(header.descr)
                count = byte_count(header, dtype)
                if header.size + count != info.file_size:
                    raise NotPlain(f"{info.file_size} bytes are no array of shape {header.shape}")
                if dtype.kind in "biuf" and dtype.itemsize < _SINGLE:
                    # Shorter numbers become numbers of four bytes later on.
                    budget.take(count * (_SINGLE // dtype.itemsize - 1), f"'{name}'")
                return read_plain(stream, header, dtype)
        except NotPlain as error:
            raise NotPlain(f"'{name}' is refused: {error}") from error


def array_names(path: str | Path) -> list[str]:
    """The names of the arrays in an npz file that has been read before."""
    with zipfile.ZipFile(path) as archive:
        return Archive(path, archive).names()


def _check_member(name: str, info: zipfile.ZipInfo) -> None:
    if not info.filename.endswith(_SUFFIX):
        raise NotPlain(f"it holds '{listed([name])}', which is no array")
    if info.compress_type not in _METHODS or info.flag_bits & _ENCRYPTED:
        raise NotPlain(f"'{listed([name])}' is encrypted, or compressed as npz files are not")
