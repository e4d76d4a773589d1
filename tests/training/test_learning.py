"""Each method learns: from one demonstration it ends well above behaviour cloning.

With NPPAC_LEARNING_RECORD=FILE the returns are also written to a file, and NPPAC_LEARNING_SEEDS
says how many seeds there are.
"""

import json
import os
import statistics
from pathlib import Path

import pytest

from learning_task import EPISODES, OWN, STEPS, TASK, cloned, demonstrate, learned
from nppac.agents.registry import METHODS
from nppac.utils.provenance import commit

SEEDS = range(int(os.environ.get("NPPAC_LEARNING_SEEDS", "1")))
MARGIN = 100.0

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def demonstration(tmp_path_factory):
    return demonstrate(tmp_path_factory.mktemp("demonstration"))


@pytest.fixture(scope="module")
def cloning(demonstration):
    returns = [cloned(demonstration, seed) for seed in SEEDS]
    record("behaviour cloning", returns, steps=0)
    return statistics.mean(returns)


@pytest.mark.parametrize("method", METHODS)
def test_a_method_beats_behaviour_cloning(method, demonstration, cloning, tmp_path):
    returns = [learned(method, seed, demonstration, tmp_path / str(seed)) for seed in SEEDS]
    record(method, returns, steps=OWN.get(method, {}).get("steps", STEPS))
    assert statistics.mean(returns) > cloning + MARGIN


def record(name, returns, steps):
    path = os.environ.get("NPPAC_LEARNING_RECORD")
    if not path:
        return
    known = json.loads(Path(path).read_text()) if Path(path).exists() else {}
    about = {"task": TASK, "episodes": EPISODES, "seeds": len(SEEDS), "commit": commit()}
    entry = {"env_steps": steps, "returns": returns}
    known = {**about, "methods": {**known.get("methods", {}), name: entry}}
    Path(path).write_text(json.dumps(known, indent=2) + "\n")
