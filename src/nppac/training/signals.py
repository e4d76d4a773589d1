"""How a run is stopped: Ctrl-C, `kill` and a lost terminal let it save itself first."""

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType

STOPPING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""What asks a run to stop: Ctrl-C, the system or a scheduler, and a terminal that closes."""

AGAIN_SECONDS = 2.0
"""After so long a stop that had no effect is raised once more."""

Handler = Callable[[int, FrameType | None], object]


class Interrupted(Exception):
    """Training stopped because a signal asked for it; everything is in the checkpoint."""

    def __init__(self, signum: int = signal.SIGINT):
        super().__init__(f"stopped by {signal.Signals(signum).name}")
        self.signum = signum


class StoppedAtOnce(KeyboardInterrupt):
    """The process was told to stop, and stops where it is."""

    def __init__(self, signum: int = signal.SIGINT):
        super().__init__(f"stopped by {signal.Signals(signum).name}")
        self.signum = signum


def exit_code(stop: BaseException) -> int:
    """What a shell expects of a process that a signal stopped: 130 after Ctrl-C, 143 after kill."""
    return 128 + getattr(stop, "signum", signal.SIGINT)


@contextmanager
def stopping_at_once() -> Iterator[None]:
    """Let every such signal raise `StoppedAtOnce`, so that unfinished files are cleaned up.

    An exception that happens to be raised in a callback of the garbage collector is swallowed by
    Python. So it is raised again until this context is left.
    """
    again = _Again()

    def handle(signum: int, frame: object) -> None:
        again.requests.append(signum)
        _ask_again_later(again)
        raise StoppedAtOnce(signum)

    try:
        with _handled_by(handle):
            yield
    finally:
        if again.requests and signal.getsignal(signal.SIGALRM) is again:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, signal.SIG_DFL)


class _Again:
    """Raises a stop once more."""

    def __init__(self) -> None:
        self.requests: list[int] = []

    def __call__(self, signum: int, frame: object) -> None:
        _ask_again_later(self)
        raise StoppedAtOnce(self.requests[0])


def stop_is_obeyed() -> None:
    """Raise a stop no more, because it was caught and what is left takes its time."""
    if isinstance(signal.getsignal(signal.SIGALRM), _Again):
        signal.setitimer(signal.ITIMER_REAL, 0)


def _ask_again_later(again: Handler) -> None:
    """Set the alarm, unless somebody else uses it."""
    if signal.getsignal(signal.SIGALRM) in (signal.SIG_DFL, again):
        signal.signal(signal.SIGALRM, again)
        signal.setitimer(signal.ITIMER_REAL, AGAIN_SECONDS)


@contextmanager
def stopping_after_epoch() -> Iterator[Callable[[], int | None]]:
    """Yield a function that says which signal has asked to stop, if any; a second stops at once.

    Only the end of an epoch can be resumed bit for bit, so the epoch is finished first.
    """
    requests: list[int] = []

    def handle(signum: int, frame: object) -> None:
        if signum == signal.SIGHUP:
            _leave_terminal()
        if requests:
            raise StoppedAtOnce(signum)
        requests.append(signum)
        # Past Python's buffers, which the signal may have found in the middle of a write.
        text = b"\nFinishing this epoch, then stopping (Ctrl-C again stops at once).\n"
        with suppress(OSError):
            os.write(2, text)

    with _handled_by(handle):
        yield lambda: requests[0] if requests else None


@contextmanager
def _handled_by(handle: Handler) -> Iterator[None]:
    """Set a handler for the time being; elsewhere than in the main thread signals are not ours."""
    previous = {}
    try:
        for signum in STOPPING:
            # `nohup` has asked to survive the terminal; that wish stands.
            if signum != signal.SIGHUP or signal.getsignal(signum) is not signal.SIG_IGN:
                previous[signum] = signal.signal(signum, handle)
    except ValueError:
        yield
        return
    try:
        yield
    finally:
        for signum, before in previous.items():
            signal.signal(signum, before)


def _leave_terminal() -> None:
    """Write to nowhere from now on: to write to a closed terminal is an error."""
    with suppress(OSError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        for stream in (1, 2):
            if os.isatty(stream):
                os.dup2(nowhere, stream)
