import pytest

from nppac.cli import main
from toy_task import FLAGS, write_demos

from .own import own

__all__ = ["own"]


@pytest.fixture(scope="session")
def demos(tmp_path_factory):
    return str(write_demos(tmp_path_factory.mktemp("demos") / "demos.npz"))


@pytest.fixture(scope="session")
def finished(tmp_path_factory, demos):
    """A run that nobody disturbed."""
    directory = tmp_path_factory.mktemp("runs") / "finished"
    main(["train", *FLAGS, "--demos", demos, "--out", str(directory)])
    return directory


@pytest.fixture(autouse=True)
def elsewhere(tmp_path, monkeypatch):
    """Each test in a directory of its own, where what is left behind can be seen, in a pipe."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("COLUMNS", raising=False)
    return tmp_path
