import json

import numpy as np
import pytest

from nppac.cli.doctor import write_diagnosis
from nppac.demos import load_demos
from nppac.diagnostics.doctor import doctor, split_demos
from nppac.references.neural.config import NetworkConfig
from nppac.utils.errors import UserError
from toy_task import GP, TASK, write_demos

NETWORK = NetworkConfig(hidden=(8,), max_epochs=3)


def bad_scale(obs):
    return np.zeros((len(obs), 2)), -np.ones((len(obs), 2))


def forgetful(obs):
    """Answers the first time it is asked, and never again."""
    asked = forgetful.__dict__.setdefault("asked", [])
    asked.append(len(obs))
    return np.zeros((len(obs), 2)), np.full((len(obs), 2), 1.0 if len(asked) == 1 else np.nan)


def wide(obs):
    return np.zeros((len(obs), 2)), 0.1 + np.linalg.norm(obs, axis=1, keepdims=True) * np.ones(2)


@pytest.fixture
def demos(tmp_path):
    return str(write_demos(tmp_path / "demos.npz", episodes=5))


def test_whole_episodes_are_held_out_and_none_is_lost(demos):
    loaded = load_demos(demos)
    split = split_demos(loaded, seed=0)
    assert (len(split.fit), len(split.check), split.held_out) == (4, 1, True)
    ids = {id(e) for e in (*split.fit.episodes, *split.check.episodes)}
    assert ids == {id(e) for e in loaded.episodes}
    assert not split_demos(loaded.first(1), seed=0).held_out


@pytest.mark.parametrize("reference", ["gp", "network", "mixed:gp+network"])
def test_a_fitted_reference_is_checked_on_held_out_episodes(demos, tmp_path, reference):
    found = doctor(TASK, demos, reference, episodes=2, gp=GP, network=NETWORK)
    write_diagnosis(found, tmp_path)
    assert found.verdict != "broken"
    assert found.calibration is not None
    assert (found.calibration.held_out, found.calibration.episodes) == (True, 1)
    assert "rollout" in found.profiles
    stored = json.loads((tmp_path / "diagnosis.json").read_text())
    assert stored["verdict"] == found.verdict
    assert stored["about"]["reference"] == reference
    assert (tmp_path / "doctor.png").read_bytes().startswith(b"\x89PNG")


def test_the_user_s_own_functions(demos, tmp_path):
    good = doctor(TASK, demos, f"{__name__}:wide", episodes=0)
    assert good.calibration is not None
    assert not good.calibration.held_out
    assert good.verdict in ("healthy", "flat")
    bad = doctor(TASK, demos, f"{__name__}:bad_scale")
    write_diagnosis(bad, tmp_path / "bad")
    assert (bad.verdict, bad.exit_code) == ("broken", 6)
    assert "scale" in bad.explanation
    assert (tmp_path / "bad" / "diagnosis.json").exists()
    assert not (tmp_path / "bad" / "doctor.png").exists()


def test_a_function_that_breaks_only_where_acting_leads_is_broken_too(demos, tmp_path):
    (tmp_path / "doctor.png").write_text("of an earlier diagnosis")
    found = doctor(TASK, demos, f"{__name__}:forgetful", episodes=1)
    write_diagnosis(found, tmp_path)
    assert (found.verdict, found.exit_code) == ("broken", 6)
    assert "Asked while acting" in found.explanation
    assert json.loads((tmp_path / "diagnosis.json").read_text())["verdict"] == "broken"
    assert not (tmp_path / "doctor.png").exists()


def test_what_is_no_reference_is_named(demos):
    with pytest.raises(UserError, match="Did you mean 'network'"):
        doctor(TASK, demos, "netwrk")
