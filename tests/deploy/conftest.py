from dataclasses import replace

import pytest

from nppac.deploy.student import plain

from .students import make_student


@pytest.fixture
def saved(tmp_path):
    path = tmp_path / "policy.npz"
    replace(plain(make_student(), "door"), record={"run": "runs/x"}).save(path)
    return path
