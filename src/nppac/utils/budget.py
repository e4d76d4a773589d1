"""How much memory the contents of a file may take, checked before anything is allocated."""

from pathlib import Path

from nppac.utils.errors import UserError

GIB = 2**30
SPARE = 64 * 2**20
"""What any file may take, however small it is."""
EXPANSION = 100
"""Bytes in memory for each byte of a file, beyond `SPARE`; what is measured compresses by less."""


class Budget:
    """The bytes that may still be built from one file.

    The bound is `limit`, or `SPARE` + `EXPANSION` times the file's size where that is less, so that
    a small file which unpacks to a huge one is refused.
    """

    def __init__(self, path: str | Path, limit: int | None = None) -> None:
        self._path = path
        self._size = Path(path).stat().st_size
        # What is stored without compression is as large as its file, which its owner has room for.
        limit = max(GIB, self._size) if limit is None else limit
        self.allowed = min(limit, SPARE + EXPANSION * self._size)
        self._taken = 0

    def take(self, size: int, what: str) -> None:
        """Claim `size` bytes for `what`; refuses what goes beyond the bound."""
        self._taken += size
        if self._taken > self.allowed:
            raise UserError(
                f"{self._path}: with {what} its contents take {megabytes(self._taken)}, but at "
                f"most {megabytes(self.allowed)} are read from a file of {megabytes(self._size)}. "
                "Split it, or store fewer steps."
            )


def megabytes(size: int) -> str:
    """A number of bytes as people read it."""
    return f"{size:,} bytes" if size < 10_000 else f"{size / 1e6:,.2f} MB"
