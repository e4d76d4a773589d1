"""`nppac demos inspect` of many files, each in a process of its own that ends as it ends.

The processes are forked from one that has made the imports, which take longer than the command.
"""

import gc
import json
import os
import resource
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import nppac.cli.commands  # noqa: F401 - what `main` imports when it is called
from nppac.cli import main


class End(NamedTuple):
    """How a process ended; the code is negative if a signal ended it."""

    code: int
    stdout: str
    stderr: str


def inspected(paths: Iterable[Path], memory: int = resource.RLIM_INFINITY) -> list[End]:
    """How the command ended for each file, with so much address space."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-m", "demos.inspected", str(memory), *map(str, paths)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        timeout=300,
    )
    return [End(*end) for end in json.loads(done.stdout)]


def end_of(path: Path, memory: int) -> End:
    streams = [path.with_name(name) for name in ("stdout.txt", "stderr.txt")]
    gc.freeze()  # what the child need not look at when it ends
    child = os.fork()
    if not child:
        for number, stream in enumerate(streams, start=1):
            os.dup2(os.open(stream, os.O_CREAT | os.O_WRONLY), number)
        os.chdir(path.parent)
        resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
        sys.argv[1:] = ["demos", "inspect", path.name]
        main()
        sys.exit()
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return End(code, *(stream.read_text() for stream in streams))


if __name__ == "__main__":
    limit, *names = sys.argv[1:]
    print(json.dumps([end_of(Path(name), int(limit)) for name in names]))
