import ast
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from nppac.cli import starting
from nppac.cli.starting import EndingAtOnce

SWALLOWED = """
import os, signal, time
from nppac.cli.starting import EndingAtOnce
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background ignores it
with EndingAtOnce():
    try:
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(9)
    except BaseException:
        print("swallowed")
"""


@pytest.fixture(autouse=True)
def usual_answer():
    """Python's own answer to Ctrl-C, which a shell takes from what it runs in the background."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def imported_at_once(path):
    """What a module imports before anything else happens."""
    nodes = ast.parse(path.read_text()).body
    plain = [alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names]
    return {*plain, *(node.module for node in nodes if isinstance(node, ast.ImportFrom))}


def test_almost_nothing_is_imported_before_ctrl_c_has_its_answer():
    """Until then Python's own traceback would be the answer."""
    package = Path(starting.__file__).parents[1]
    assert imported_at_once(package / "__init__.py") == {"nppac.utils.version"}
    assert imported_at_once(package / "utils" / "version.py") == set()
    assert imported_at_once(package / "utils" / "__init__.py") == set()
    assert imported_at_once(package / "cli" / "__init__.py") == {"nppac.cli.starting"}
    assert imported_at_once(package / "cli" / "starting.py") <= {"os", *sys.builtin_module_names}


def test_ctrl_c_amid_imports_ends_in_one_line_whatever_they_catch():
    done = subprocess.run([sys.executable, "-c", SWALLOWED], capture_output=True, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (130, b"", b"Stopped.\n")


def test_afterwards_ctrl_c_is_an_exception_again():
    usual = signal.getsignal(signal.SIGINT)
    with EndingAtOnce():
        assert signal.getsignal(signal.SIGINT) is not usual
    assert signal.getsignal(signal.SIGINT) is usual
    with pytest.raises(KeyboardInterrupt):
        os.kill(os.getpid(), signal.SIGINT)


@pytest.mark.parametrize("handler", [signal.SIG_IGN, lambda *_: None])
def test_the_answer_of_a_caller_stands(handler):
    usual = signal.signal(signal.SIGINT, handler)
    try:
        with EndingAtOnce():
            assert signal.getsignal(signal.SIGINT) is handler
    finally:
        signal.signal(signal.SIGINT, usual)


def test_other_threads_leave_signals_alone():
    entered = []

    def work():
        with EndingAtOnce():
            entered.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert entered == [signal.getsignal(signal.SIGINT)]
