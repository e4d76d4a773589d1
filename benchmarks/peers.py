"""Other libraries to be measured beside ours, in a virtual environment of their own.

It is made once, in a cache directory, so that what they need never meets what we need. A peer is a
process that waits while it is not its turn.
"""

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

REQUIREMENTS = (
    "stable-baselines3==2.9.2",
    "sbx-rl==0.28.0",
    "torch==2.13.0",  # a build without CUDA is preferred where pip knows one
    "gymnasium[mujoco]",
)
SCRIPT = Path(__file__).with_name("peer_worker.py")


def environment() -> Path:
    """The Python of the peers' environment, which is made if it is not there."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    directory = cache / "nppac-bench"
    python, stamp = directory / "bin" / "python", directory / "requirements.json"
    if stamp.exists() and json.loads(stamp.read_text()) == list(REQUIREMENTS):
        return python
    print(f"Installing {', '.join(REQUIREMENTS)} in {directory} ...", flush=True)
    subprocess.run([sys.executable, "-m", "venv", "--clear", str(directory)], check=True)
    install = [str(python), "-m", "pip", "install", "--quiet", *REQUIREMENTS]
    subprocess.run(install, check=True)
    stamp.write_text(json.dumps(REQUIREMENTS))
    return python


@dataclass(frozen=True)
class Peer:
    """A SAC of another library, in a process of its own."""

    process: subprocess.Popen
    about: dict[str, Any]

    def measure(self) -> float:
        """Let it run one round: gradient or environment steps per second."""
        assert self.process.stdin is not None
        self.process.stdin.write("go\n")
        self.process.stdin.flush()
        return float(_answer(self.process)["rate"])

    def stop(self) -> None:
        """Let it end."""
        self.process.communicate()


def label(library: str, block: int) -> str:
    """A peer's name in a table; by default it makes one gradient step a call."""
    return library if block == 1 else f"{library}, in blocks"


def start(library: str, **settings: Any) -> Peer:
    """Start `sb3` or `sbx` with the settings that the worker's docstring names."""
    # Ours must not leak in: neither its packages nor where it keeps compiled programs.
    ours = ("PYTHONPATH", "JAX_COMPILATION_CACHE_DIR")
    process = subprocess.Popen(
        [str(environment()), str(SCRIPT), json.dumps({"library": library, **settings})],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={name: value for name, value in os.environ.items() if name not in ours},
    )
    return Peer(process, _answer(process))


def _answer(process: subprocess.Popen) -> dict[str, Any]:
    assert process.stdout is not None
    for line in process.stdout:
        if line.startswith("{"):  # anything else is the library talking
            return json.loads(line)
    raise RuntimeError(f"the peer ended with code {process.wait()}; its message is above")
