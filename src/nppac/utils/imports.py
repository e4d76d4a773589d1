"""Modules of the user's own: where they are looked for, and what happens if they fail."""

import importlib
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

from nppac.utils.errors import UserError


class FailedEnvironment(UserError):
    """An environment raised an error, or tried to end the process; with its traceback."""

    keep = "\n"


def own_traceback(error: BaseException) -> str:
    """The traceback of an error from the first frame that is neither nppac's nor Gymnasium's."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        module = str(trace.tb_frame.f_globals.get("__name__", "")).partition(".")[0]
        if module not in ("nppac", "gymnasium"):
            break
        trace = trace.tb_next
    return "".join(traceback.format_exception(type(error), error, trace))


def import_users(module: str, what: str) -> ModuleType:
    """Import a module that `what` asks for; those of the working directory count."""
    try:
        with working_directory_importable():
            return importlib.import_module(module)
    except (Exception, SystemExit) as error:  # a module may raise anything while it is imported
        raise UserError(
            f"Cannot import the module '{module}' of {what}: {type(error).__name__}: {error}. "
            "Install it, or run where it can be found."
        ) from error


@contextmanager
def working_directory_importable() -> Iterator[None]:
    """An installed command does not look for modules where it was started; `python -m` does."""
    here = str(Path.cwd())
    sys.path.insert(0, here)
    try:
        yield
    finally:
        sys.path.remove(here)
