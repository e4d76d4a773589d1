"""A user's own references of the toy task, good and bad, in a module of the working directory."""

import sys

import pytest

from toy_task import write_demos

MODULE = """
import numpy as np

def answer(obs, scale):
    return -obs[:, :2].clip(-1, 1), np.reshape(scale, (-1, 1)) * np.ones((len(obs), 2))

def radius(obs):
    return np.linalg.norm(obs, axis=1)

def growing(obs):
    return answer(obs, 0.1 + radius(obs) ** 2)

def constant(obs):
    return answer(obs, 0.1)

def falling(obs):
    return answer(obs, 0.2 / (1 + radius(obs)))

def vanishing(obs):
    return answer(obs, 1e-4)

def negative(obs):
    return answer(obs, -1.0)

def not_a_number(obs):
    return answer(obs * np.nan, 1.0)

def narrow(obs):
    return obs[:, :1], np.ones((len(obs), 1))

def one_row(obs):
    return np.zeros(2), np.ones(2)
"""
BAD = {
    "negative": "gave a scale that is not positive",
    "not_a_number": "gave a loc that is not finite",
    "one_row": "with loc (2,) and scale (2,); both must be (",
}
"""What is wrong with each function that answers with no density at all."""


@pytest.fixture
def own(tmp_path, monkeypatch):
    """A directory with the module `my_robot` and demonstrations, and nothing else."""
    (tmp_path / "my_robot.py").write_text(MODULE)
    write_demos(tmp_path / "demos.npz")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    yield tmp_path
    sys.modules.pop("my_robot", None)
