"""Where a sweep's results are: a directory that all workers reach, or a URL that fsspec knows.

At a URL, training goes on in a local directory. What changes is copied to the URL whenever there is
a new checkpoint, so that a worker on another machine can continue the run.
"""

import hashlib
import importlib
import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from nppac.evaluation.metrics import METRICS_FILE
from nppac.sweeps.layout import SweepLayout
from nppac.training.directory import CHECKPOINT_FILE, CONFIG_FILE, SUMMARY_FILE
from nppac.training.loop import Callback
from nppac.utils.errors import UserError
from nppac.utils.files import TEMPORARY, is_leftover
from nppac.utils.locks import LOCK_FILE

SMALL = (CONFIG_FILE, METRICS_FILE, SUMMARY_FILE)
"""What the state of a run is read from."""


@dataclass(frozen=True)
class Copies:
    """A sweep's directory on this machine, and the place elsewhere that it is a copy of."""

    root: Path
    url: str | None = None
    """None where the directory is the place itself; then nothing is copied."""
    pushed: dict[Path, tuple[int, int]] = field(default_factory=dict)
    """Time and size of each file when it was last copied to the URL."""

    def pull_plan(self) -> None:
        """Fetch the expanded plan."""
        self.pull(SweepLayout(self.root).plan)

    def pull(self, path: Path) -> None:
        """Fetch a file, or a directory with what is in it."""
        if self.url is None:
            return
        files, place = _file_system(self.url), self._place(path)
        try:
            for there in files.find(place) if files.isdir(place) else [place]:
                if files.exists(there):
                    inside = str(there)[len(place) :].lstrip("/")
                    self._fetch(files, there, path / inside if inside else path)
        except OSError as error:
            raise _unreachable(self.url, error) from error

    def _fetch(self, files: Any, there: str, here: Path) -> None:
        here.parent.mkdir(parents=True, exist_ok=True)
        temporary = here.with_name(f".{here.name}.{os.getpid()}{TEMPORARY}")
        files.get_file(there, str(temporary))
        os.replace(temporary, here)

    def push(self, path: Path) -> None:
        """Copy a file, or what has changed in a directory; the summary last: it means the end."""
        if self.url is None or not path.exists():
            return
        files = _file_system(self.url)
        try:
            for here in _to_copy(path):
                facts = here.stat().st_mtime_ns, here.stat().st_size
                if self.pushed.get(here) == facts:
                    continue
                there = self._place(here)
                files.makedirs(there.rpartition("/")[0], exist_ok=True)
                files.put_file(str(here), there)
                self.pushed[here] = facts
        except OSError as error:
            raise _unreachable(self.url, error) from error

    def pull_states(self, names: Iterable[str]) -> None:
        """Fetch what the states of runs are read from."""
        if self.url is None:
            return
        self.pull_plan()
        for name in names:
            for path in (self.root / name / file for file in SMALL):
                self.pull(path)
            self.pull(SweepLayout(self.root).journal(name))

    def after_checkpoints(self, directory: Path) -> Callback | None:
        """What a run calls after every epoch, to copy each new checkpoint."""
        if self.url is None:
            return None
        checkpoint, seen = directory / CHECKPOINT_FILE, [0]

        def copy(row: object) -> None:
            changed = checkpoint.stat().st_mtime_ns if checkpoint.exists() else 0
            if changed != seen[0]:
                seen[0] = changed
                self.push(directory)

        return copy

    def _place(self, path: Path) -> str:
        relative = path.relative_to(self.root).as_posix()
        place = _file_system(self.url or "")._strip_protocol(self.url)
        return f"{str(place).rstrip('/')}/{relative}"


def _to_copy(path: Path) -> list[Path]:
    """Files in the order in which a reader may see them."""
    found = [path] if path.is_file() else [file for file in path.rglob("*") if file.is_file()]
    plain = [file for file in found if file.name != LOCK_FILE and not is_leftover(file)]
    return sorted(plain, key=lambda file: (file.name == SUMMARY_FILE, file))


def copies_of(location: str) -> Copies:
    """The directory of a path; or of a URL, its copy in this machine's cache."""
    if "://" not in location:
        return Copies(Path(location))
    if location.startswith("memory:"):
        raise UserError(
            f"{location} is the memory of one process, and every run of a sweep is a process of "
            "its own. Give a directory, or a URL that all of them reach."
        )
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    name = hashlib.sha256(location.rstrip("/").encode()).hexdigest()[:16]
    return Copies(cache / "nppac" / "sweeps" / name, location.rstrip("/"))


def _file_system(url: str) -> Any:
    try:
        fsspec = importlib.import_module("fsspec")
    except ImportError as error:
        raise UserError(
            f"{url} is no directory of this machine; it needs: pip install 'nppac[cluster]'"
        ) from error
    try:
        return fsspec.core.url_to_fs(url)[0]
    except (ImportError, ValueError) as error:
        raise UserError(f"Cannot use {url}: {error}.") from error


def _unreachable(url: str, error: OSError) -> UserError:
    return UserError(f"Cannot reach {url}: {error.strerror or error}.")
