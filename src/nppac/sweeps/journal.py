"""What happened to each run: started, resumed, finished, failed and why."""

import json
import os
import socket
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Literal, NamedTuple, cast, get_args

from nppac.utils.errors import UserError
from nppac.utils.files import append_durably
from nppac.utils.json_reader import parse_json

What = Literal["started", "resumed", "finished", "skipped", "failed", "stopped", "lost"]
MOST_BYTES = 2**20
LONGEST_REASON = 500


class Event(NamedTuple):
    """One line of a journal."""

    what: What
    reason: str = ""
    host: str = ""
    pid: int = 0
    time: float = 0.0


def note(path: Path, what: What, reason: str = "") -> None:
    """Append an event, and see it to the disk."""
    reason = " ".join(reason.split())[:LONGEST_REASON]
    event = Event(what, reason, socket.gethostname(), os.getpid(), round(time.time(), 3))
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(f"Cannot write {path}: {error.strerror or error}.") from error
    append_durably(path, json.dumps(event._asdict()) + "\n")


def read_journal(path: Path) -> list[Event]:
    """The events so far; a last line that a killed process left unfinished is none."""
    try:
        with open(path, "rb") as file:
            lines = file.read(MOST_BYTES).split(b"\n")[:-1]
    except FileNotFoundError:
        return []
    except OSError as error:
        raise UserError(f"Cannot read {path}: {error.strerror or error}.") from error
    return [_event(line, path) for line in lines if line.strip()]


def _event(line: bytes, path: Path) -> Event:
    found = parse_json(line, str(path))
    kinds = {"what": str, "reason": str, "host": str, "pid": int, "time": int | float}
    values = found if isinstance(found, dict) else {}
    typed = all(isinstance(values.get(name), kind) for name, kind in kinds.items())
    if not typed or values["what"] not in get_args(What):
        raise UserError(f"{path} holds a line that is no event of a sweep: {line[:60]!r}.")
    return Event(**{name: values[name] for name in Event._fields})


def failures(events: Sequence[Event]) -> int:
    """How often a run failed."""
    return sum(event.what == "failed" for event in events)


def last_reason(events: Sequence[Event]) -> str:
    """Why the newest of the failures happened; empty if nothing failed."""
    bad = [event.reason for event in events if cast(str, event.what) in ("failed", "lost")]
    return bad[-1] if bad else ""
