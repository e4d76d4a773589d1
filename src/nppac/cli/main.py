"""The entry of `nppac`: imports little, so that even an impatient Ctrl-C ends in one line."""

import os
import sys
from collections.abc import Sequence

from nppac.utils.version import VERSION


def main(argv: Sequence[str] | None = None) -> None:
    """Run one command; a user's mistake becomes one clear message and exit code 1."""
    args = list(sys.argv[1:] if argv is None else argv)
    try:
        if args == ["--version"]:
            print(VERSION, flush=True)
            return
        # Here, because it takes seconds to import what a command needs.
        from nppac.cli.commands import run_command

        run_command(args, owns_process=argv is None)
    except BrokenPipeError:  # the reader, such as `head`, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise SystemExit(1) from None
    except KeyboardInterrupt:
        print("Stopped.", file=sys.stderr)
        raise SystemExit(130) from None
