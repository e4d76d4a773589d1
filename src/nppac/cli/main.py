"""The entry of `nppac`: imports little, so that even an impatient Ctrl-C ends in one line."""

import os
import signal
import sys
from collections.abc import Sequence
from contextlib import suppress

from nppac.cli.starting import EndingAtOnce
from nppac.utils.errors import UserError
from nppac.utils.threads import bounded_threads, checked_count
from nppac.utils.version import VERSION

THREADS_OPTION = "--threads"


def main(argv: Sequence[str] | None = None) -> None:
    """Run one command; a user's mistake becomes one clear message and exit code 1."""
    args = list(sys.argv[1:] if argv is None else argv)
    try:
        if args == ["--version"]:
            print(VERSION, flush=True)
            return
        threads, rest = split_threads(args)
        with bounded_threads(threads):  # before the libraries start their threads
            with EndingAtOnce():  # it takes seconds to import what a command needs
                from nppac.cli.commands import run_command
            run_command(rest, owns_process=argv is None)
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
        raise SystemExit(1) from None
    except BrokenPipeError:  # the reader, such as `head`, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise SystemExit(1) from None
    except KeyboardInterrupt as stop:
        with suppress(OSError):  # the terminal may be what was closed
            print("Stopped.", file=sys.stderr)
        raise SystemExit(128 + getattr(stop, "signum", signal.SIGINT)) from None


def split_threads(args: Sequence[str]) -> tuple[int | None, list[str]]:
    """The number that `--threads` gives, if it is there, and the other arguments."""
    found, rest = None, []
    words = iter(args)
    for word in words:
        if word == THREADS_OPTION:
            found = next(words, "")
        elif word.startswith(f"{THREADS_OPTION}="):
            found = word.partition("=")[2]
        else:
            rest.append(word)
    return None if found is None else checked_count(THREADS_OPTION, found), rest
