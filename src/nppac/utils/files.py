"""Files that are never half-written and never execute anything when read."""

import json
import os
import tempfile
import zipfile
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import IO, Any

import numpy as np

from nppac.utils.budget import Budget
from nppac.utils.errors import UserError
from nppac.utils.json_reader import LIMIT, parse_json
from nppac.utils.npz_reader import Archive
from nppac.utils.plain_arrays import explained

TEMPORARY = ".unfinished"
"""How the name of a file ends while it is being written."""


def write_atomically(path: str | Path, write: Callable[[IO[bytes]], object]) -> None:
    """Write beside `path` and rename over it, so that a reader sees the old file or the new one."""
    path = Path(path)
    temporary = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(
            dir=path.parent, prefix=f".{path.name}.", suffix=TEMPORARY, delete=False
        ) as file:
            temporary = Path(file.name)
            write(file)
            file.flush()
            os.fsync(file.fileno())
        temporary.chmod(0o644)
        temporary.replace(path)
    except OSError as error:
        if temporary is not None:
            temporary.unlink(missing_ok=True)
        raise UserError(
            f"Cannot write {path}: {error.strerror or error}. Nothing there was changed; "
            "free some space or choose another place."
        ) from error
    except BaseException:
        if temporary is not None:
            temporary.unlink(missing_ok=True)
        raise


def remove_leftovers(directory: str | Path) -> None:
    """Delete the unfinished files that killed processes left in a directory."""
    for leftover in Path(directory).glob(f".*{TEMPORARY}"):
        leftover.unlink(missing_ok=True)


def write_json(path: str | Path, value: Any) -> None:
    """Write `value` as indented JSON, atomically."""
    text = json.dumps(value, indent=2, sort_keys=False) + "\n"
    write_atomically(path, lambda file: file.write(text.encode()))


def write_arrays(
    path: str | Path, arrays: Mapping[str, np.ndarray], *, compress: bool = False
) -> None:
    """Write named arrays as npz, atomically and without pickle."""
    named = {name: np.asarray(array) for name, array in arrays.items()}
    for name, array in named.items():
        if array.dtype.hasobject:
            raise TypeError(f"array '{name}' holds Python objects, which an npz would pickle")
    save: Any = np.savez_compressed if compress else np.savez
    write_atomically(path, lambda file: save(file, **named))


def read_json(path: str | Path) -> Any:
    """Read a JSON file of bounded size and depth."""
    try:
        with open(path, "rb") as file:
            text = file.read(LIMIT + 1)
    except FileNotFoundError as error:
        raise UserError(f"There is no file {path}.") from error
    except OSError as error:
        raise UserError(f"{path} cannot be read as JSON: {error}.") from error
    return parse_json(text, str(path))


def read_arrays(
    path: str | Path, names: Collection[str] | None = None, limit: int | None = None
) -> dict[str, np.ndarray]:
    """Read arrays of numbers and text from an npz file; refuses anything that would need pickle.

    Of the arrays `names` those are read that are there; None means all. More than `limit` bytes
    are refused before anything is unpacked; None means 1 GiB, or the file's own size.
    """
    try:
        with open(path, "rb") as file, zipfile.ZipFile(file) as opened:
            archive = Archive(path, opened)
            wanted = [n for n in archive.names() if names is None or n in names]
            return archive.read(wanted, Budget(path, limit))
    except FileNotFoundError as error:
        raise UserError(f"There is no file {path}.") from error
    except UserError:
        raise
    except Exception as error:  # zipfile and zlib share no better base
        raise UserError(
            f"{path} cannot be read as an npz archive of arrays: {explained(error)}."
        ) from error
