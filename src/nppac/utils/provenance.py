"""Where a record comes from."""

import shlex
import subprocess
import sys
from pathlib import Path

from nppac.utils.threads import thread_count
from nppac.utils.version import VERSION


def provenance() -> dict[str, object]:
    """Version, commit, command and number of threads, for the record.

    The number of threads matters to the last bits: compilers divide sums among them.
    """
    return {
        "nppac": VERSION,
        "commit": commit(),
        "command": shlex.join(["nppac", *sys.argv[1:]]),
        "threads": thread_count(),
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
