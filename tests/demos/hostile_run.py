"""Loads every hostile pickle and prints what came of it as JSON, with its time and memory.

A process of its own: the run-time type checks of the tests would take most of the time.
"""

import json
import sys
import time
import tracemalloc
from pathlib import Path

from demos.hostile import HOSTILE
from nppac.demos import load_demos


def outcome(path: Path) -> dict[str, object]:
    tracemalloc.start()
    began = time.process_time()
    kind, message = "nothing", ""
    try:
        load_demos(path)
    except Exception as error:
        kind, message = type(error).__name__, str(error)
    seconds, memory = time.process_time() - began, tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return {"kind": kind, "message": message, "seconds": seconds, "memory": memory}


def main() -> None:
    outcomes = {}
    for name, data in HOSTILE.items():
        path = Path(sys.argv[1]) / "d.pickle"
        path.write_bytes(data)
        outcomes[name] = outcome(path)
    print(json.dumps(outcomes))


if __name__ == "__main__":
    main()
