"""What takes long to make and is only read: made by the first of the tests' processes that asks."""

import fcntl
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest


def made_once(factory: pytest.TempPathFactory, name: str, make: Callable[[Path], object]) -> Any:
    """What `make` returned, by way of JSON; it is given a directory that the processes share."""
    own = factory.getbasetemp()
    folder = (own.parent if "PYTEST_XDIST_WORKER" in os.environ else own) / f"once-{name}"
    folder.mkdir(exist_ok=True)
    result = folder / "result.json"
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not result.exists():
            made = json.dumps(make(folder))
            result.write_text(made)
    return json.loads(result.read_text())
