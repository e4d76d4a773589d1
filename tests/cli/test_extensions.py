"""A method, a reference and a task of the user's own: one file each, and no edit in the package."""

import json
from pathlib import Path

import pytest

from forked import printed
from toy_task import FLAGS, TASK, write_demos

METHOD = """
from nppac.agents.kl_actor_critic import KLActorCritic
from nppac.utils.settings import Positive, settings


@settings
class Careful(KLActorCritic):
    \"\"\"N-PPAC that trusts its critics less.\"\"\"

    doubt: Positive = 0.5
    \"\"\"How much less.\"\"\"
"""
REFERENCE = """
import numpy as np

from nppac.references import Reference, ReferenceConfig
from nppac.types import ReferenceStats
from nppac.utils.settings import Positive, settings


class Mean(Reference):
    kind = "my-mean"
    family = "normal"

    def __init__(self, mean, scale):
        self.centre, self.scale = mean, scale

    def __call__(self, obs):
        loc = self.mean(obs)
        return ReferenceStats(loc, np.full_like(loc, self.scale))

    def mean(self, obs):
        return np.tile(self.centre, (len(obs), 1)).astype(np.float32)

    def arrays(self):
        return {"centre": self.centre, "scale": np.asarray(self.scale)}

    @classmethod
    def from_arrays(cls, arrays):
        return cls(arrays["centre"], float(arrays["scale"]))

    def summary(self):
        return {"kind": self.kind, "scale": self.scale}


@settings
class MeanConfig(ReferenceConfig):
    \"\"\"The mean action everywhere.\"\"\"

    width: Positive = 0.5
    \"\"\"Its scale.\"\"\"

    def fit(self, obs, actions, advance):
        return Mean(actions.mean(0), self.width)
"""
TASK_MODULE = """
import gymnasium as gym

import nppac
from forked import printed
from toy_task import Reach

gym.register("my-lab/Reach-v0", entry_point=Reach)
nppac.register_task(nppac.TaskSpec("my-reach", "my-lab/Reach-v0", horizon=5))
"""


@pytest.fixture
def demos(tmp_path):
    return str(write_demos(tmp_path / "demos.npz"))


def stored(directory):
    return json.loads((Path(directory) / "config.json").read_text())


def test_a_method_of_ones_own(tmp_path, demos):
    (tmp_path / "my_method.py").write_text(METHOD)
    method = ["--method", "my_method:Careful", "--doubt", "0.25"]
    _, evaluated = printed(
        [
            ["train", *FLAGS, *method, "--demos", demos, "--out", "run"],
            ["evaluate", "run", "--episodes", "1"],
        ]
    )
    assert stored("run")["agent"]["doubt"] == 0.25
    assert "return_mean" in evaluated


def test_a_reference_of_ones_own_with_settings(tmp_path, demos):
    (tmp_path / "my_reference.py").write_text(REFERENCE)
    reference = ["--reference", "my_reference:MeanConfig", "--custom.width", "0.25"]
    _, shown, *_ = printed(
        [
            ["train", *FLAGS, *reference, "--demos", demos, "--out", "run"],
            ["train", "--config", "run/config.json", "--print-config", "--seed", "5"],
            ["resume", "run", "--steps", "120"],
            ["fit", "--task", TASK, *reference, "--demos", demos, "--out", "mean.npz"],
        ]
    )
    assert stored("run")["custom"] == {"width": 0.25}
    assert json.loads(shown)["custom"] == {"width": 0.25}


def test_a_task_of_ones_own(tmp_path):
    (tmp_path / "my_task.py").write_text(TASK_MODULE)
    task = ["--task", "my_task:my-reach", "--reference", "uniform", "--pretrain-epochs", "0"]
    printed(
        [
            ["train", *FLAGS, *task, "--out", "run"],
            ["evaluate", "run", "--episodes", "1", "--json", "e.json"],
        ]
    )
    assert stored("run")["task"] == "my_task:my-reach"
    assert json.loads(Path("e.json").read_text())["lengths"] == [5]
