"""Fits kept between commands: what was fitted once to the same data is not fitted again.

A fit is known by all that decides its bits: the demonstrations, the reference's name and settings,
the code and the libraries, the kind of processor and the number of threads. A file that is damaged
is noticed by its checksum and made again.
"""

import hashlib
import json
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path

import jax
import numpy as np
import scipy
from filelock import FileLock, Timeout

from nppac.references.base import Reference
from nppac.utils.checksum import arrays_digest
from nppac.utils.compilation import machine_kind
from nppac.utils.errors import UserError
from nppac.utils.locks import NO_LOCKS
from nppac.utils.version import VERSION

CACHE_VARIABLE = "NPPAC_CACHE"
"""Environment variable: the directory that fits are kept in."""
MOST_BYTES = 1 << 30
"""Those that were not asked for the longest are deleted beyond this."""


def fit_key(name: str, settings: Mapping[str, object], obs: np.ndarray, actions: np.ndarray) -> str:
    """A name for the fit; `settings` are plain data."""
    facts = {
        "versions": [VERSION, jax.__version__, np.__version__, scipy.__version__],
        "code": _code_digest(),
        "machine": machine_kind(),
        "reference": name,
        "settings": settings,
        "data": arrays_digest({"obs": obs, "actions": actions}),
    }
    return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()[:32]


@cache
def _code_digest() -> str:
    """SHA-256 of the code that fits: another version of it may fit otherwise."""
    package = Path(__file__).parents[1]
    total = hashlib.sha256()
    for path in sorted([*(package / "references").rglob("*.py"), *(package / "nn").rglob("*.py")]):
        total.update(path.read_bytes())
    return total.hexdigest()


def kept_fit(
    key: str,
    fit: Callable[[], Reference],
    load: Callable[[Path], Reference],
    *,
    refit: bool = False,
) -> Reference:
    """The fit of that key from the cache, or else a new one, which is kept.

    Of several processes that ask at once, one fits and the others wait for it. Where nothing can
    be kept, the fit is made all the same.
    """
    directory = cache_directory()
    if directory is None:
        return fit()
    path = directory / f"{key}.npz"
    with _lock(path.with_suffix(".lock")):
        found = None if refit else _loaded(path, load)
        return _fitted(path, fit) if found is None else found


def _loaded(path: Path, load: Callable[[Path], Reference]) -> Reference | None:
    """The reference in the cache; None if there is none, or a damaged one."""
    if not path.exists():
        return None
    try:
        reference = load(path)
    except UserError as error:
        print(f"A fit in the cache is of no use and is made again. {error}", file=sys.stderr)
        return None
    with suppress(OSError):
        os.utime(path)  # so that what is used is kept
    print(
        "The reference was fitted before and is taken from the cache; --refit fits it again.",
        file=sys.stderr,
    )
    return reference


def _fitted(path: Path, fit: Callable[[], Reference]) -> Reference:
    reference = fit()
    try:
        reference.save(path)
    except UserError as error:
        print(f"The fit is not kept in the cache. {error}", file=sys.stderr)
    else:
        forget_oldest(path.parent, path)
    return reference


def forget_oldest(directory: Path, newest: Path, most: int = MOST_BYTES) -> None:
    """Delete the fits that were not asked for the longest, until the rest is small enough."""
    with suppress(OSError):  # another process may delete the same
        files = [(path.stat().st_mtime, path) for path in directory.glob("*.npz")]
        total = sum(path.stat().st_size for _, path in files)
        for _, path in sorted(files):
            if total <= most or path == newest:
                continue
            total -= path.stat().st_size
            path.unlink()


def cache_directory() -> Path | None:
    """Where fits are kept, made if need be; None where that cannot be."""
    given = os.environ.get(CACHE_VARIABLE)
    try:
        home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "nppac"
        directory = (Path(given) if given else home) / "fits"
        directory.mkdir(parents=True, exist_ok=True)
    except (OSError, RuntimeError):  # no home directory can be found out
        return None
    return directory if os.access(directory, os.W_OK | os.X_OK) else None


@contextmanager
def _lock(path: Path) -> Iterator[None]:
    """One process at a time; the system ends the claim of a dead one."""
    lock = FileLock(path)
    try:
        try:
            lock.acquire(blocking=False)
        except Timeout:
            print("Another process fits the same reference: waiting for it.", file=sys.stderr)
            lock.acquire()
    except OSError as error:
        if error.errno not in NO_LOCKS:
            raise UserError(f"Cannot use the cache {path.parent}: {error.strerror}.") from error
    try:
        yield
    finally:
        with suppress(OSError):
            path.unlink()
        lock.release()
