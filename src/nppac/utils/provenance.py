"""Where a record comes from."""

import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

from nppac.utils.version import VERSION


def provenance() -> dict[str, Any]:
    """Version, commit and command, for the record."""
    return {
        "nppac": VERSION,
        "commit": commit(),
        "command": shlex.join(["nppac", *sys.argv[1:]]),
    }


def commit() -> str | None:
    """Commit of the source tree, with a mark where it has uncommitted changes."""
    try:
        described = subprocess.run(
            ["git", "describe", "--always", "--dirty", "--abbrev=12", "--exclude=*"],
            cwd=Path(__file__).parent,
            capture_output=True,
            text=True,
            check=True,
            timeout=10,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return described.stdout.strip()
