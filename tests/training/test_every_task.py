"""Every method runs on every task of the paper: its preset, made small, for two epochs."""

from dataclasses import replace

import numpy as np
import pytest

from learning_task import known_settings
from nppac.agents.common.paper_settings import PAPER
from nppac.agents.registry import METHODS
from nppac.demos import demos_from_episodes, save_demos
from nppac.evaluation.metrics import METRICS_FILE, load_metrics
from nppac.references import NetworkConfig
from nppac.tasks import action_dim, get_task, make_env
from nppac.tasks.rollout import rollout
from nppac.training.presets import preset
from nppac.training.runs import start_run

pytestmark = pytest.mark.slow

EPOCH = 60
SMALL = {
    "policy_hidden": (16,),
    "critic_hidden": (16,),
    "cvae_hidden": (16,),
    "num_qs": 2,
    "utd_ratio": 2,
    "policy_updates": 2,
    "critic_warmup_updates": 0,
    "warmup_updates": 2,
    "steps": 2 * EPOCH,
    "epoch_steps": EPOCH,
    "replay_capacity": 1_000,
    "batch_size": 16,
    "warmup_steps": EPOCH,
    "random_steps": EPOCH,
    "updates_per_step": 0.1,
    "offline_updates": 4,
    "pretrain_epochs": 1,
    "pretrain_copies": 0,
    "eval_every": EPOCH,
    "eval_episodes": 1,
    "checkpoint_every": EPOCH,
}


@pytest.fixture(scope="module", params=PAPER)
def demonstrated(request, tmp_path_factory):
    """A task, and a file with two episodes of small noise in it."""
    spec, rng = get_task(request.param), np.random.default_rng(0)
    env = make_env(spec)
    shape = action_dim(env)
    episodes = rollout([env], lambda rows: 0.1 * rng.normal(size=(len(rows), shape)), (1, 2))
    path = tmp_path_factory.mktemp("demos") / "demos.npz"
    about = {"env_id": spec.env_id, "env_kwargs": spec.env_kwargs, "provenance": {}}
    save_demos(path, demos_from_episodes(episodes, **about))
    return request.param, str(path)


@pytest.mark.parametrize("method", METHODS)
def test_a_method_runs_on_a_task(method, demonstrated, tmp_path):
    task, demos = demonstrated
    config = preset(task, method)
    alone = METHODS[method].needs == "nothing"
    wanted = SMALL | ({"pretrain_epochs": 0, "offline_updates": 0} if alone else {})
    config = replace(
        config,
        demos=None if alone else demos,
        agent=replace(config.agent, **known_settings(config.agent, wanted)),
        schedule=replace(config.schedule, **known_settings(config.schedule, wanted)),
        gp=replace(config.gp, fit_points=50, max_steps=2),
        network=NetworkConfig(max_epochs=2),
    )
    start_run(config, tmp_path / "run")
    metrics = load_metrics(tmp_path / "run" / METRICS_FILE)
    assert list(metrics["env_steps"]) == [0, EPOCH, 2 * EPOCH]
    assert np.isfinite(metrics["eval_return_mean"]).all()
    assert metrics["updates"][-1] > 0
