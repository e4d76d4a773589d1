"""Commands of `nppac`, each in a process of its own that ends as it ends.

The processes are forked from one that has made the imports, which take longer than most commands.
"""

import gc
import importlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from nppac.cli import main
from nppac.tasks.environment import register_robotics

TESTS = Path(__file__).parent


def printed(commands: Sequence[Sequence[str]], folder: Path) -> list[str]:
    """What commands print that run in `folder` one by one; all of them must end well."""
    path = os.pathsep.join([str(TESTS), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        [sys.executable, "-m", "forked", json.dumps(commands)],
        env={**os.environ, "PYTHONPATH": path},
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def printed_by(words: Sequence[str]) -> str:
    with tempfile.TemporaryFile("w+") as stream:
        gc.freeze()  # what the child need not look at when it ends
        child = os.fork()
        if not child:
            os.dup2(stream.fileno(), sys.stdout.fileno())
            sys.argv[1:] = words
            main()
            sys.exit()
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        if code:
            sys.exit(f"{words} ended with {code}")
        stream.seek(0)
        return stream.read()


def import_all() -> None:
    """What a command that trains imports in the end."""
    importlib.import_module("nppac.cli.commands")
    importlib.import_module("nppac.plotting.learning_curve")
    register_robotics()


if __name__ == "__main__":
    import_all()
    print(json.dumps([printed_by(words) for words in json.loads(sys.argv[1])]))
