"""Ctrl-C while the program is still being imported: one line, exit code 130.

An exception would not do. Raised amid the imports of others it is swallowed, becomes an
`ImportError`, or ends in a traceback. Nothing has been written yet, so the process may simply end.
This module imports only what is built into Python, so that its answer is in place early.
"""

import _signal as signal  # pyright: ignore[reportMissingImports]  # `signal` imports ten more
import os  # Python has imported it before it reads a program


class EndingAtOnce:
    """A context in which Ctrl-C ends the process, unless a caller has its own answer to it."""

    _ours = False

    def __enter__(self) -> None:
        if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            try:
                signal.signal(signal.SIGINT, _end)
                self._ours = True
            except ValueError:
                pass  # elsewhere than in the main thread signals are not ours

    def __exit__(self, *_: object) -> None:
        if self._ours:
            signal.signal(signal.SIGINT, signal.default_int_handler)


def _end(signum: int, frame: object) -> None:
    try:
        os.write(2, b"Stopped.\n")
    finally:
        os._exit(128 + signum)
