"""Loads every hostile pickle and prints what came of it as JSON, with its time and memory.

A process for each, in which the types are not checked as in the tests: memory is what it took more
than it began with, which is measured for nothing, unlike by `tracemalloc`.
"""

import json
import os
import sys
import time
from pathlib import Path
from resource import RUSAGE_SELF, getrusage

from demos.hostile import HOSTILE
from nppac.demos import load_demos

_UNIT = 1 if sys.platform == "darwin" else 1024


def outcome(path: Path) -> dict[str, object]:
    before = getrusage(RUSAGE_SELF).ru_maxrss
    began = time.process_time()
    kind, message = "nothing", ""
    try:
        load_demos(path)
    except Exception as error:
        kind, message = type(error).__name__, str(error)
    seconds = time.process_time() - began
    memory = _UNIT * (getrusage(RUSAGE_SELF).ru_maxrss - before)
    return {"kind": kind, "message": message, "seconds": seconds, "memory": memory}


def outcome_apart(path: Path) -> dict[str, object]:
    """The outcome in a process of its own, or how that ended."""
    out = path.with_suffix(".json")
    out.write_text("{}")
    child = os.fork()
    if not child:
        out.write_text(json.dumps(outcome(path)))
        os._exit(0)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return {"kind": f"ended with {code}", **json.loads(out.read_text())}


def main() -> None:
    outcomes = {}
    for name, data in HOSTILE.items():
        path = Path(sys.argv[1]) / "d.pickle"
        path.write_bytes(data)
        outcomes[name] = outcome_apart(path)
    print(json.dumps(outcomes))


if __name__ == "__main__":
    main()
