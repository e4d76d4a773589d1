import errno
import subprocess
import sys

import pytest

from nppac.utils.errors import UserError
from nppac.utils.locks import LOCK_FILE, check_writable, directory_lock

HOLD = """
import sys
from nppac.utils.locks import directory_lock
with directory_lock(sys.argv[1]):
    print("held", flush=True)
    sys.stdin.readline()
"""


@pytest.fixture
def holder(tmp_path):
    """Another process that has claimed `tmp_path / "run"`; it lets go when it is told to."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(tmp_path / "run")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout.readline() == "held\n"
    yield process
    process.kill()
    process.communicate()


def refused(directory):
    with (
        pytest.raises(UserError, match=f"Another process is at work on {directory}"),
        directory_lock(directory),
    ):
        raise AssertionError("claimed twice")
    return True


def test_a_directory_that_another_process_holds_is_refused_until_it_lets_go(tmp_path, holder):
    assert refused(tmp_path / "run")
    holder.communicate("go\n")
    assert holder.returncode == 0
    with directory_lock(tmp_path / "run"):
        pass
    assert list((tmp_path / "run").iterdir()) == []


def test_the_claim_of_a_killed_process_is_void(tmp_path, holder):
    holder.kill()
    holder.wait()
    assert (tmp_path / "run" / LOCK_FILE).exists()
    with directory_lock(tmp_path / "run"):
        assert refused(tmp_path / "run")
    assert list((tmp_path / "run").iterdir()) == []


def test_an_error_lets_go(tmp_path):
    directory = tmp_path / "new" / "run"
    with pytest.raises(KeyError), directory_lock(directory):
        raise KeyError
    with directory_lock(directory):
        assert refused(directory)


@pytest.mark.parametrize("claim", [directory_lock, check_writable])
def test_a_directory_that_cannot_be_made_is_named(tmp_path, claim):
    (tmp_path / "file").write_text("")
    message = r"Cannot use the directory .*file/run: Not a directory"
    with pytest.raises(UserError, match=message), claim(tmp_path / "file" / "run"):
        pass


def test_looking_whether_a_directory_can_be_written_leaves_nothing(tmp_path):
    check_writable(tmp_path / "a" / "b")
    assert list(tmp_path.iterdir()) == []


def test_a_directory_without_permission_is_named(tmp_path, monkeypatch):
    def refuse(**_):
        raise OSError(errno.EROFS, "Read-only file system")

    monkeypatch.setattr("tempfile.TemporaryFile", refuse)
    with pytest.raises(UserError, match=r"Cannot use the directory .*: Read-only file system"):
        check_writable(tmp_path / "a")


def test_a_file_system_without_locks_is_used_without_them(tmp_path, monkeypatch):
    tried = []

    def no_locks(*_):
        tried.append(True)
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr("fcntl.flock", no_locks)
    with directory_lock(tmp_path / "run"), directory_lock(tmp_path / "run"):
        (tmp_path / "run" / "made").touch()
    assert len(tried) == 2
    assert [path.name for path in (tmp_path / "run").iterdir()] == ["made"]


def test_importing_needs_no_fcntl():
    code = "import sys; sys.modules['fcntl'] = None; import nppac.utils.locks, nppac.training.runs"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)
