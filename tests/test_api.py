import json
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import nppac
from nppac.references import GPReference
from nppac.training.presets import preset
from nppac.training.runs import resume_run
from nppac.utils.errors import UserError
from toy_task import (
    ACTION_DIM,
    AGENT,
    GP,
    OBS_DIM,
    SCHEDULE,
    TASK,
    expert,
    make_config,
    write_demos,
)

README = Path(__file__).parents[1] / "README.md"


def wide(obs):
    return -obs[:, :2].clip(-1, 1), np.full((len(obs), ACTION_DIM), 0.3)


@pytest.fixture(scope="module")
def demos(tmp_path_factory):
    return nppac.load_demos(write_demos(tmp_path_factory.mktemp("demos") / "demos.npz"))


@pytest.fixture(scope="module")
def run(tmp_path_factory, demos):
    """A run with demonstrations and a reference that are in no file, and what was reported."""
    rows = []
    reference = nppac.fit_reference(demos, gp=GP)
    out = tmp_path_factory.mktemp("runs") / "run"
    made = nppac.train(
        TASK,
        demos,
        reference,
        config=make_config(),
        steps=40,
        seed=3,
        out=out,
        callback=rows.append,
    )
    return made, rows, reference


def test_a_reference_answers_with_two_arrays(demos):
    reference = nppac.fit_reference(demos, gp=GP)
    assert isinstance(reference, GPReference)
    loc, scale = reference(demos.obs[:5])
    assert loc.shape == scale.shape == (5, ACTION_DIM)
    mine = nppac.fit_reference(demos, wide)
    np.testing.assert_allclose(mine(demos.obs[:5]).scale, 0.3)


def test_a_run_says_what_it_did(run):
    made, rows, _ = run
    assert [row["env_steps"] for row in rows] == [20, 40]
    assert all(isinstance(row, dict) for row in rows)
    assert made.config.seed == 3
    assert made.metrics["env_steps"].tolist() == [0, 20, 40]
    assert made.summary["env_steps"] == 40
    assert made.evaluate(episodes=2) == nppac.evaluate(made.directory, TASK, 2)
    assert len(repr(made.policy)) < 200
    assert "array" not in repr(made.policy)


def test_the_policy_takes_one_observation_or_many(run):
    policy = run[0].policy
    rows = np.ones((3, OBS_DIM), np.float32)
    assert policy(rows).shape == (3, ACTION_DIM)
    assert policy(rows[0]).shape == (ACTION_DIM,)
    np.testing.assert_allclose(policy(rows[0]), policy(rows)[0], atol=1e-6)
    for bad, message in ((rows[:, :2], "not of shape"), (rows * np.nan, "not finite")):
        with pytest.raises(UserError, match=message):
            policy(bad)


def test_what_was_given_in_memory_is_kept_with_the_run(run):
    made, _, reference = run
    again = nppac.load_run(made.directory)
    rows = np.ones((2, OBS_DIM), np.float32)
    np.testing.assert_array_equal(again.reference(rows).loc, reference(rows).loc)
    np.testing.assert_array_equal(
        nppac.load_policy(made.directory)(rows), made.policy(rows), strict=True
    )
    assert resume_run(made.directory, 60)["env_steps"] == 60


def test_a_function_without_a_name_is_trained_against(tmp_path, demos):
    config = make_config(agent=AGENT, schedule=replace(SCHEDULE, pretrain_epochs=1))
    made = nppac.train(
        TASK, demos, lambda obs: wide(obs), config=config, steps=20, out=tmp_path / "r"
    )
    assert made.policy(np.ones(OBS_DIM)).shape == (ACTION_DIM,)


def test_actions_are_in_the_environments_units(tmp_path):
    """Pendulum's torque is within ±2."""
    full = nppac.evaluate(lambda obs: np.full((len(obs), 1), 2.0), "Pendulum-v1", 1)
    assert full["lengths"] == [200]
    out = tmp_path / "pendulum"
    config = preset("Pendulum-v1", "sac")
    small = replace(config.agent, policy_hidden=(8,), critic_hidden=(8,))
    schedule = replace(SCHEDULE, steps=20, eval_episodes=1, eval_envs=1)
    made = nppac.train(config=replace(config, agent=small, schedule=schedule), out=out)
    policy = made.policy
    assert (policy.low, policy.high) == (-2, 2)
    rows = np.random.default_rng(0).normal(size=(5, 3)).astype(np.float32)
    np.testing.assert_allclose(policy(rows), 2 * np.clip(policy.act(rows), -1, 1), atol=1e-6)


def test_policies_functions_and_paths_are_evaluated_alike(run, demos):
    made = run[0]
    assert nppac.evaluate(made.policy, episodes=2) == made.evaluate(2)
    by_hand = nppac.evaluate(expert, TASK, 2)
    assert (
        by_hand["return_mean"]
        == nppac.evaluate(nppac.fit_reference(demos, wide), TASK, 2)["return_mean"]
    )
    with pytest.raises(UserError, match="Name the task"):
        nppac.evaluate(expert)
    with pytest.raises(UserError, match="'episodes' is 0"):
        nppac.evaluate(expert, TASK, 0)


def test_a_reference_at_hand_is_diagnosed(demos):
    found = nppac.diagnose(TASK, demos, wide, episodes=1)
    assert found.verdict == "flat"
    assert "wide" in found.about["reference"]
    assert (
        nppac.diagnose(TASK, demos, nppac.fit_reference(demos, wide), episodes=0).verdict == "flat"
    )


def test_mistakes(demos, tmp_path):
    spec = nppac.TaskSpec("unheard", "Pendulum-v1")
    with pytest.raises(UserError, match=r"'unheard' is not registered: call nppac\.register_task"):
        nppac.train(spec, demos)
    with pytest.raises(UserError, match="is of the method 'nppac': leave 'method' out"):
        nppac.train(config=make_config(), method="sac")
    with pytest.raises(UserError, match=r"no run directory or policy file .*absent"):
        nppac.load_policy(tmp_path / "absent")
    with pytest.raises(UserError, match="a positive multiple of the epoch"):
        nppac.train(config=make_config(), steps=7)
    with pytest.raises(AttributeError, match="has no attribute 'trian'"):
        _ = nppac.trian


def test_every_name_is_there():
    for name in nppac.__all__:
        assert getattr(nppac, name).__doc__
    assert set(nppac.__all__) <= set(dir(nppac))


def test_importing_and_acting_needs_numpy_alone(tmp_path):
    code = """
import json, sys
import nppac
sys.modules["jax"] = sys.modules["gymnasium"] = sys.modules["pydantic"] = None
try:
    nppac.load_policy("absent.npz")
except Exception as error:
    heavy = [name for name in ("equinox", "mujoco") if name in sys.modules]
    print(json.dumps([type(error).__name__, heavy]))
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, cwd=tmp_path
    )
    assert json.loads(done.stdout) == ["UserError", []]


def readme_example():
    [code] = [
        block
        for block in re.findall(r"```python\n(.*?)```", README.read_text(), re.DOTALL)
        if "nppac.train" in block
    ]
    return code


def test_the_readmes_example_runs(tmp_path, monkeypatch, demos):
    """On the toy task and with few steps: the names and the order are the README's."""
    monkeypatch.chdir(tmp_path)
    path = write_demos(tmp_path / "demos.npz")
    small = "config=config, steps=40"
    code = readme_example().replace('load_demos("door")', f"load_demos({str(path)!r})")
    code = code.replace('"door"', repr(TASK)).replace("steps=15_000", small)
    code = code.replace("episodes=100", "episodes=2")
    scope = {"config": make_config(), "observation": np.ones(OBS_DIM), "observations": demos.obs}
    exec(code, scope)
    assert scope["action"].shape == (ACTION_DIM,)
    assert (tmp_path / "runs").is_dir()


@pytest.mark.slow
def test_the_readmes_example_runs_on_the_door(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    door = nppac.load_demos("door")
    code = readme_example().replace("steps=15_000", "steps=2_000").replace("=100", "=4")
    scope = {"observation": door.obs[0], "observations": door.obs[:5]}
    exec(code, scope)
    assert scope["action"].shape == (28,)
    assert scope["run"].metrics["env_steps"][-1] == 2_000
