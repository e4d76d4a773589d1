import pytest

from toy_task import write_demos


@pytest.fixture(scope="session")
def demos(tmp_path_factory):
    return write_demos(tmp_path_factory.mktemp("demos") / "demos.npz")
