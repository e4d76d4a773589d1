"""One epoch: collect, cache the reference beside it, update, evaluate."""

import time
from dataclasses import dataclass, field, replace

import jax
import numpy as np

from nppac.agents.base import Agent, CalibratedAgent, ReplayAgent, State, knows_lost
from nppac.agents.replay import Replay, insert
from nppac.agents.schedule import Schedule
from nppac.evaluation.evaluate import Evaluation, evaluate_in
from nppac.evaluation.metrics import EPISODES
from nppac.references.cache import remembering
from nppac.tasks.rollout import Cut, collect, episode_seeds
from nppac.training.advice import policy_waits
from nppac.training.checkpoint import Progress, require_finite
from nppac.training.contender import Contender, contending
from nppac.training.incumbent import Incumbent, challenge, challenges_due
from nppac.training.problem import Problem
from nppac.training.transitions import rewards_of, transitions
from nppac.training.updates import (
    ReferenceQuery,
    exploring_policy,
    greedy_policy,
    random_policy,
    run_updates,
)
from nppac.training.value_error import value_error
from nppac.types import Episode
from nppac.utils.random import random_stream

MetricsPart = dict[str, float | None]
"""One row of the metrics, or a part of it."""


@dataclass(frozen=True)
class Run:
    """A run in memory at the end of an epoch.

    `demos` are the demonstrations as transitions, where the agent or the replay wants them.
    """

    progress: Progress
    state: State
    replay: Replay
    demos: Replay | None = None
    incumbent: Incumbent = field(default_factory=Incumbent)


def run_epoch(
    problem: Problem, agent: Agent, schedule: Schedule, seed: int, run: Run
) -> tuple[Run, MetricsPart]:
    """Collect one epoch of steps, update, evaluate, and test the policy where that is due."""
    key = jax.random.fold_in(random_stream(seed, "epoch"), run.progress.epoch)
    act_key, update_key = jax.random.split(key)
    run, row = _collected(problem, agent, schedule, seed, run, act_key)
    run, measured = _updated(problem, agent, schedule, run, update_key)
    row |= measured
    env_steps = run.progress.env_steps
    setting = problem, agent, schedule, seed
    moved = not policy_waits(agent, run.progress.updates)
    contender = run.incumbent.contender
    if is_due(env_steps, schedule, "eval_every"):
        evaluation = evaluate_agent(*setting, run.state)
        row |= evaluation_row(evaluation)
        if moved and schedule.challenges:
            contender = contending(contender, evaluation, run.state, env_steps)
            run = replace(run, incumbent=replace(run.incumbent, contender=contender))
    if moved and env_steps in challenges_due(schedule):
        challenger = contender or Contender(run.state, env_steps)
        run = replace(run, incumbent=challenge(*setting, run.incumbent, challenger))
    if schedule.challenges:
        row |= {"incumbent_from": run.incumbent.env_steps, "test_steps": run.incumbent.test_steps}
    return run, row


def _collected(
    problem: Problem, agent: Agent, schedule: Schedule, seed: int, run: Run, key: jax.Array
) -> tuple[Run, MetricsPart]:
    """The run with one more epoch of steps in its replay, and what they say of the critics."""
    done = run.progress
    query = remembering(problem.reference)  # acting and storing may query the same states
    act = exploring_policy(agent, run.state, key, query)
    if done.env_steps < schedule.random_steps:
        act = random_policy(problem.action_dim, key)
    seeds = episode_seeds(seed, "training", done.episodes)
    cut = _training_cut(agent, schedule, query)
    episodes = collect(problem.env, act, seeds, schedule.epoch_steps, cut)
    batch = transitions(episodes, query)
    row: MetricsPart = {
        "train_return_mean": _mean_return(episodes),
        "reward_per_step": float(np.mean(batch.reward)),
        **(value_error(agent, run.state, batch) if done.updates else {}),
    }
    if knows_lost(agent):
        row["lost_share"] = float(np.mean(agent.is_lost(batch.reference.scale)))
    progress = replace(
        done,
        epoch=done.epoch + 1,
        env_steps=done.env_steps + schedule.epoch_steps,
        episodes=done.episodes + len(episodes),
    )
    return replace(run, progress=progress, replay=insert(run.replay, batch)), row


def _training_cut(agent: Agent, schedule: Schedule, query: ReferenceQuery) -> Cut:
    """Where training episodes end early: at their longest, and where the agent stays lost."""
    cut = Cut(longest=schedule.train_episode_steps)
    if not knows_lost(agent) or not agent.max_lost_steps:
        return cut

    def lost(obs: np.ndarray) -> bool:
        return bool(agent.is_lost(query(obs[None]).scale)[0])

    return replace(cut, lost=lost, lost_steps=agent.max_lost_steps)


def _updated(
    problem: Problem, agent: Agent, schedule: Schedule, run: Run, key: jax.Array
) -> tuple[Run, MetricsPart]:
    """The run after the gradient steps of its epoch, and what they report."""
    updates = _updates_due(agent, schedule, run.progress.env_steps)
    began = time.monotonic()
    state = run.state
    if updates and not run.progress.updates and isinstance(agent, CalibratedAgent):
        state = agent.calibrated(state, run.replay)
    family, size = problem.reference.family, schedule.batch_size
    state, info = run_updates(agent, state, run.replay, key, updates, size, family, run.demos)
    require_finite(state)
    row: MetricsPart = {**info}
    if updates:
        row["updates_per_second"] = updates / (time.monotonic() - began)
    progress = replace(run.progress, updates=run.progress.updates + updates)
    return replace(run, progress=progress, state=state), row


def _updates_due(agent: Agent, schedule: Schedule, env_steps: int) -> int:
    if env_steps <= schedule.warmup_steps:
        return 0
    own = isinstance(agent, ReplayAgent)
    return agent.updates_per_epoch if own else schedule.updates_per_epoch


def evaluate_agent(
    problem: Problem, agent: Agent, schedule: Schedule, seed: int, state: State
) -> Evaluation:
    """Evaluate the deterministic policy on the same episodes each time."""
    return evaluate_in(
        problem.eval_envs,
        greedy_policy(agent, state, problem.reference),
        episodes=schedule.eval_episodes,
        seed=seed,
    )


def evaluation_row(evaluation: Evaluation) -> MetricsPart:
    """The metrics of an evaluation."""
    return {
        "eval_return_mean": evaluation.return_mean,
        "eval_return_std": evaluation.return_std,
        "eval_success_any": evaluation.success_any,
        "eval_success_end": evaluation.success_end,
        EPISODES: len(evaluation.returns),
    }


def is_due(env_steps: int, schedule: Schedule, interval: str) -> bool:
    """Whether something that happens at an interval happens now; at the end everything does."""
    return env_steps % getattr(schedule, interval) == 0 or env_steps >= schedule.steps


def _mean_return(episodes: list[Episode]) -> float:
    return float(np.mean([float(np.sum(rewards_of(episode))) for episode in episodes]))
