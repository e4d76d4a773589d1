"""A method, a reference and a task of the user's own: one file each, and no edit in the package."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest

import nppac
from forked import printed
from nppac.utils.errors import UserError
from once import made_once
from toy_task import FLAGS, OBS_DIM, TASK, write_demos

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


METHOD_FLAGS = ["--method", "my_method:Careful", "--doubt", "0.25", "--demos", "demos.npz"]
REFERENCE_FLAGS = ["--reference", "my_reference:MeanConfig", "--custom.width", "0.25"]
REFERENCE_FLAGS += ["--demos", "demos.npz"]
TASK_FLAGS = ["--task", "my_task:my-reach", "--reference", "uniform", "--pretrain-epochs", "0"]
COMMANDS = {
    "method": [
        ["train", *FLAGS, *METHOD_FLAGS, "--out", "method"],
        ["evaluate", "method", "--episodes", "1"],
    ],
    "reference": [
        ["train", *FLAGS, *REFERENCE_FLAGS, "--out", "reference"],
        ["train", "--config", "reference/config.json", "--print-config", "--seed", "5"],
        ["resume", "reference", "--steps", "120"],
        ["fit", "--task", TASK, *REFERENCE_FLAGS, "--out", "mean.npz"],
    ],
    "task": [
        ["train", *FLAGS, *TASK_FLAGS, "--out", "task"],
        ["evaluate", "task", "--episodes", "1", "--json", "task.json"],
    ],
}


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    """The directory in which all commands ran, and what each printed."""
    folder, texts = made_once(tmp_path_factory, "extensions", run_in)
    return Path(folder), texts


def run_in(folder):
    (folder / "my_method.py").write_text(METHOD)
    (folder / "my_reference.py").write_text(REFERENCE)
    (folder / "my_task.py").write_text(TASK_MODULE)
    write_demos(folder / "demos.npz")
    texts = iter(printed([words for group in COMMANDS.values() for words in group], folder))
    return str(folder), {name: [next(texts) for _ in group] for name, group in COMMANDS.items()}


def stored(directory):
    return json.loads((directory / "config.json").read_text())


def test_a_method_of_ones_own(done):
    folder, texts = done
    assert stored(folder / "method")["agent"]["doubt"] == 0.25
    assert "return_mean" in texts["method"][1]


def test_a_reference_of_ones_own_with_settings(done):
    folder, texts = done
    assert stored(folder / "reference")["custom"] == {"width": 0.25}
    assert json.loads(texts["reference"][1])["custom"] == {"width": 0.25}
    assert stored(folder / "reference")["schedule"]["steps"] == 120
    assert "load_reference(FILE, trusted='my_reference:MeanConfig')" in texts["reference"][3]


def test_a_fit_of_ones_own_is_loaded_by_who_names_it(done, monkeypatch):
    folder, _ = done
    monkeypatch.syspath_prepend(folder)
    monkeypatch.delitem(sys.modules, "my_reference", raising=False)
    with pytest.raises(UserError, match="never allowed to import code"):
        nppac.load_reference(folder / "mean.npz")
    assert "my_reference" not in sys.modules
    reference = nppac.load_reference(folder / "mean.npz", trusted="my_reference:MeanConfig")
    np.testing.assert_allclose(reference(np.zeros((2, OBS_DIM), np.float32)).scale, 0.25)


def test_a_task_of_ones_own(done):
    folder, _ = done
    assert stored(folder / "task")["task"] == "my_task:my-reach"
    assert json.loads((folder / "task.json").read_text())["lengths"] == [5]
