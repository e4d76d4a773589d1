"""Commands of `nppac`, each in a process of its own that ends as it ends.

The processes are forked from one that has made the imports, which take longer than most commands.
"""

import gc
import importlib
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
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


class Launcher:
    """A process with all imports made, which forks one command at a time on demand."""

    def __init__(self) -> None:
        self.child: int | None = None
        path = os.pathsep.join([str(TESTS), os.environ.get("PYTHONPATH", "")])
        self.process = subprocess.Popen(
            [sys.executable, "-m", "forked"],
            env={**os.environ, "PYTHONPATH": path},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def start(self, words: Sequence[str], environment: Mapping[str, str], folder: Path) -> int:
        """Start a command in a folder, where `out` and `err` take what it prints: its id."""
        self.child = self._ask(list(words), dict(environment), str(folder))
        return self.child

    def wait(self) -> int:
        """The code with which the command ended."""
        self.child = None
        return self._ask()

    def stop(self) -> None:
        """End a command that nobody waited for; until then its id is nobody else's."""
        if self.child is not None:
            os.kill(self.child, signal.SIGKILL)
            self.wait()

    def close(self) -> None:
        """End the process."""
        self.process.kill()
        self.process.communicate()

    def _ask(self, *request: object) -> int:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        return int(self.process.stdout.readline())


def launch(words: Sequence[str], environment: Mapping[str, str], folder: str) -> int:
    """Fork a command, whose id this is."""
    gc.freeze()
    child = os.fork()
    if not child:
        os.chdir(folder)
        for name, stream in (("out", sys.stdout), ("err", sys.stderr)):
            with Path(name).open("w") as file:
                os.dup2(file.fileno(), stream.fileno())
        os.environ.clear()
        os.environ.update(environment)
        sys.argv[1:] = words
        main()
        sys.exit()
    return child


def launch_on_demand() -> None:
    """For each line a number: the id of the command that it starts, or how the last one ended."""
    child = 0
    for line in sys.stdin:
        if request := json.loads(line):
            child = launch(*request)
            print(child, flush=True)
        else:
            print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)


def import_all() -> None:
    """What a command that trains imports in the end."""
    importlib.import_module("nppac.cli.commands")
    importlib.import_module("nppac.plotting.learning_curve")
    register_robotics()


if __name__ == "__main__":
    import_all()
    if sys.argv[1:]:
        print(json.dumps([printed_by(words) for words in json.loads(sys.argv[1])]))
    else:
        launch_on_demand()
