"""`nppac train ...` up to its first compiled scan of updates; prints when it came to what.

    python benchmarks/first_update.py --task door --reference reference.npz --out DIRECTORY

Not a benchmark of its own: whole_run.py launches it as a user would launch the command.
"""

import json
import os
import sys
import time
from collections.abc import Callable
from typing import Any

import jax

from nppac.cli import main
from nppac.training import loop as training
from nppac.training import updates

MARKS = {"imported": time.time()}


def marking(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, and a note of when it first returned."""

    def marked(*args: Any, **settings: Any) -> Any:
        result = function(*args, **settings)
        MARKS.setdefault(name, time.time())
        return result

    return marked


def until_here(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function once; then the marks, and the end of the process."""

    def last(*args: Any, **settings: Any) -> Any:
        jax.block_until_ready(function(*args, **settings))
        print(json.dumps({**MARKS, "first update": time.time()}), flush=True)
        os._exit(0)

    return last


if __name__ == "__main__":
    patched: Any = training
    patched.evaluate_agent = marking("first evaluation", training.evaluate_agent)
    patched.collect = marking("first epoch collected", training.collect)
    patched = updates
    patched._scan_updates = until_here(updates._scan_updates)
    sys.argv = ["nppac", "train", *sys.argv[1:]]
    main()
