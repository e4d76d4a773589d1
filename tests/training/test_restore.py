import json
from dataclasses import replace

import numpy as np
import pytest

from nppac.evaluation.evaluate import evaluate_policy
from nppac.references import load_reference
from nppac.tasks import get_task
from nppac.training.config import to_json
from nppac.training.restore import load_run_policy, load_trained_run
from nppac.training.runs import start_run
from nppac.utils.errors import UserError
from toy_run import column
from toy_task import ACTION_DIM, AGENT, OBS_DIM, SCHEDULE, TASK, expert, make_config, state_of


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    directory = tmp_path_factory.mktemp("runs") / "finished"
    start_run(make_config(schedule=replace(SCHEDULE, steps=60)), directory)
    return directory


def test_a_runs_policy_is_that_of_its_checkpoint(finished):
    config, act = load_run_policy(finished)
    assert config.agent == AGENT
    obs = np.random.default_rng(0).normal(size=(4, OBS_DIM)).astype(np.float32)
    weights = state_of(finished)
    hidden = np.maximum(
        obs @ weights["state/.policy.trunk.weights[0]"] + weights["state/.policy.trunk.biases[0]"],
        0,
    )
    raw = (
        hidden @ weights["state/.policy.trunk.weights[1]"]
        + weights["state/.policy.trunk.biases[1]"]
    )
    np.testing.assert_allclose(act(obs), np.tanh(raw[:, :ACTION_DIM]), atol=1e-5)


def test_a_restored_policy_is_lost_where_the_trained_one_was(tmp_path, gp_config):
    """The threshold is in no file: it follows from the reference."""
    agent = replace(AGENT, lost_ratio=0.5)
    short = replace(gp_config, agent=agent, schedule=replace(SCHEDULE, steps=20))
    start_run(short, tmp_path / "run")
    trained = load_trained_run(tmp_path / "run")
    assert trained.config.agent == agent
    far = load_reference(tmp_path / "run" / "reference.npz").far_scale()
    assert trained.agent.lost_scale == pytest.approx(0.5 * far.mean())
    assert column(tmp_path / "run", "lost_share").shape == (2,)


def test_a_run_without_a_checkpoint_has_no_policy_yet(tmp_path):
    (tmp_path / "config.json").write_text(json.dumps(to_json(make_config())))
    with pytest.raises(UserError, match=r"no checkpoint yet.*nppac resume"):
        load_run_policy(tmp_path, trust=True)


def test_an_evaluation_follows_from_its_seed_and_needs_an_episode():
    spec = get_task(TASK)
    first, same = (evaluate_policy(spec, expert, 3, seed=5) for _ in range(2))
    assert first == same
    assert len(first["returns"]) == 3
    assert evaluate_policy(spec, expert, 3, seed=6) != first
    with pytest.raises(UserError, match="at least one episode, not 0"):
        evaluate_policy(spec, expert, 0, seed=5)
