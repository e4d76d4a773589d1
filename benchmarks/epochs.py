"""Epochs of training in memory, to be timed one at a time, and references to train against."""

import time
from collections.abc import Callable
from dataclasses import replace

import jax
import numpy as np

from nppac.agents.replay import empty_replay
from nppac.references import GPConfig, NetworkConfig, Reference, fit_network
from nppac.references.gp.kernels import GPParams, KernelName
from nppac.references.gp.posterior import GPReference
from nppac.tasks import get_task
from nppac.training.checkpoint import Progress
from nppac.training.config import RunConfig
from nppac.training.epoch import Run, run_epoch
from nppac.training.presets import preset
from nppac.training.problem import make_problem


def endless(task: str, method: str = "nppac") -> RunConfig:
    """A preset's run with nothing before its first step, and whose evaluations never fall due."""
    config = preset(task, method)
    schedule = replace(
        config.schedule,
        pretrain_epochs=0,
        warmup_steps=0,
        random_steps=0,
        eval_every=10**6,
        eval_episodes=1,
        steps=10**6,
    )
    return replace(config, schedule=schedule, demos=None)


def epoch_seconds(config: RunConfig, reference: Reference) -> Callable[[], float]:
    """A measurement: the seconds of one more epoch of 1,000 steps and as many updates."""
    problem = make_problem(config, get_task(config.task), None, reference)
    state = config.agent.init(jax.random.key(0), problem.obs_dim, problem.action_dim)
    run = Run(Progress(), state, empty_replay(50_000, problem.obs_dim, problem.action_dim))

    def measure() -> float:
        nonlocal run
        began = time.monotonic()
        run, _ = run_epoch(problem, config.agent, config.schedule, 0, run)
        jax.block_until_ready((run.state, run.replay))
        return time.monotonic() - began

    return measure


def synthetic_demos(points: int, inputs: int, outputs: int) -> tuple[np.ndarray, np.ndarray]:
    """States in slow random walks, as demonstrations are; actions a smooth function of them."""
    rng = np.random.default_rng(0)
    obs = np.cumsum(0.05 * rng.standard_normal((points, inputs)), axis=0) % 2.0 - 1.0
    actions = np.tanh(obs @ rng.standard_normal((inputs, outputs)) / np.sqrt(inputs))
    return obs, actions + 0.05 * rng.standard_normal(actions.shape)


def random_gp(points: int, obs_dim: int, action_dim: int, kernel: KernelName) -> GPReference:
    """A GP with so many points, whose answers cost what a fitted one's do and mean nothing."""
    obs, actions = synthetic_demos(points, obs_dim, action_dim)
    one = np.ones(action_dim)
    params = GPParams(
        np.full(obs_dim, 2.0), 0.1 * one, 0.1 * one, 0.01 * one, np.asarray(0.01), 0.0 * one
    )
    weights = 1e-3 * np.random.default_rng(1).standard_normal((points, action_dim))
    config = GPConfig(kernel=kernel)
    return GPReference(params, kernel, obs, actions, weights, config)


def random_network(obs_dim: int, action_dim: int) -> Reference:
    """A network of the size that a fit has by default, hardly fitted."""
    obs, actions = synthetic_demos(256, obs_dim, action_dim)
    return fit_network(obs, actions, NetworkConfig(max_epochs=1))
