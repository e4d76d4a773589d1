"""Where a run comes from: its demonstrations and its place, noted when it begins."""

import hashlib
import sys
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from nppac.demos import Demos
from nppac.training.config import RunConfig, to_json
from nppac.training.directory import CONFIG_FILE
from nppac.training.trust import TOKEN, made_here_token
from nppac.utils.errors import UserError
from nppac.utils.files import read_json_object
from nppac.utils.provenance import provenance
from nppac.utils.threads import thread_count


def demos_fingerprint(demos: Demos) -> str:
    """SHA-256 over what a run reads of its demonstrations."""
    total = hashlib.sha256()
    for episode in demos.episodes:
        arrays = (episode.observations, episode.actions, episode.rewards, episode.successes)
        for array in arrays:
            if array is None:
                total.update(b"none")
                continue
            array = np.ascontiguousarray(array)
            total.update(f"{array.dtype.str}{array.shape}".encode() + array.tobytes())
        total.update(b"terminated" if episode.terminated else b"cut")
    return total.hexdigest()


def run_origin(config: RunConfig, demos: Demos | None, directory: Path) -> dict[str, object]:
    """The provenance of a new run."""
    found: dict[str, object] = {**provenance(), "directory": str(directory.resolve())}
    if demos is not None:
        found["demos_sha256"] = demos_fingerprint(demos)
    token = made_here_token(to_json(config))
    return found if token is None else {**found, TOKEN: token}


def check_origin(directory: Path, config: RunConfig, demos: Demos | None) -> None:
    """Refuse demonstrations that are others than the run began with; say if the run was moved."""
    stored = read_json_object(directory / CONFIG_FILE).get("provenance")
    stored = stored if isinstance(stored, Mapping) else {}
    known = stored.get("demos_sha256")
    if known is not None and (demos is None or demos_fingerprint(demos) != known):
        raise UserError(
            f"The demonstrations {config.demos} are not those that {directory} began with: the run "
            "would not be the one that it was. Restore them, or train anew in another directory."
        )
    before, here = stored.get("directory"), str(directory.resolve())
    if before not in (None, here):
        print(f"This run was made in {before} and is now in {here}.", file=sys.stderr)
    _tell_if_threads_differ(stored.get("threads"))


def _tell_if_threads_differ(before: object) -> None:
    now = thread_count()
    if before not in (None, now):
        print(
            f"This run began with {before} threads and goes on with {now}: its numbers may differ "
            "in the last bits from those of a run that was not interrupted.",
            file=sys.stderr,
        )
