"""The training loop: collect, cache the reference, update, evaluate, record.

Everything random is derived from (seed, purpose, counter), so that a run that was killed and
resumed is the run that was not.
"""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import jax
import numpy as np

from nppac.agents.base import Agent, ReplayAgent, State
from nppac.agents.replay import Replay, empty_replay, insert
from nppac.agents.schedule import Schedule
from nppac.evaluation.evaluate import Evaluation, evaluate_in
from nppac.evaluation.metrics import METRICS_FILE, append_row, load_metrics, rewind
from nppac.references.cache import remembering
from nppac.tasks.rollout import collect, episode_seeds
from nppac.training.checkpoint import (
    Progress,
    load_newest,
    require_finite,
    save_checkpoint,
    state_shapes,
)
from nppac.training.directory import CHECKPOINT_FILE
from nppac.training.pretraining import demo_transitions, learn_offline, pretrain_on_demos
from nppac.training.problem import Problem
from nppac.training.signals import Interrupted, stopping_after_epoch
from nppac.training.transitions import rewards_of, transitions
from nppac.training.updates import (
    exploring_policy,
    greedy_policy,
    metric_names,
    random_policy,
    run_updates,
)
from nppac.types import Episode
from nppac.utils.errors import UserError
from nppac.utils.files import remove_file
from nppac.utils.progress import progress_bar
from nppac.utils.random import random_stream


@dataclass(frozen=True)
class Run:
    """A run in memory at the end of an epoch.

    `demos` are the demonstrations as transitions, where the agent or the replay wants them.
    """

    progress: Progress
    state: State
    replay: Replay
    demos: Replay | None = None


Callback = Callable[[Mapping[str, float | None]], object]
"""Is called with each row of the metrics, once it is on the disk."""


def train_to_end(
    problem: Problem,
    agent: Agent,
    schedule: Schedule,
    seed: int,
    directory: Path,
    callback: Callback | None = None,
) -> Run:
    """Train to the end of the schedule, from the directory's checkpoint if it has one."""
    run = _start(problem, agent, schedule, seed, directory)
    with (
        stopping_after_epoch() as stop_requested,
        progress_bar("Training", schedule.steps, run.progress.env_steps) as advance,
    ):
        while run.progress.epoch < schedule.epochs:
            began = time.monotonic()
            run, row = run_epoch(problem, agent, schedule, seed, run)
            run = _tick(run, began)
            row |= _counters(run.progress)
            append_row(directory / METRICS_FILE, row)
            advance(run.progress.env_steps, _status(row))
            stopping = stop_requested()  # asked once: what stops the run has been saved
            if stopping or _due(run.progress.env_steps, schedule, "checkpoint_every"):
                save_checkpoint(directory / CHECKPOINT_FILE, run.progress, run.state, run.replay)
            if callback is not None:
                callback(row)
            if stopping and run.progress.epoch < schedule.epochs:
                raise Interrupted(stopping)
    return run


def _start(problem: Problem, agent: Agent, schedule: Schedule, seed: int, directory: Path) -> Run:
    """The run at its checkpoint; or a new one, pretrained and evaluated before its first step."""
    demos = demo_transitions(problem, agent, schedule)
    shown = 0 if demos is None or not schedule.demos_in_replay else demos.capacity
    capacity = min(schedule.replay_capacity, schedule.steps + shown)
    replay = empty_replay(capacity, problem.obs_dim, problem.action_dim)
    sizes = problem.obs_dim, problem.action_dim
    found = load_newest(directory, state_shapes(agent, *sizes), replay)
    if found is not None:
        progress, state, replay = found
        rewind(directory / METRICS_FILE, progress.env_steps)
        return Run(progress, state, replay, demos)
    began = time.monotonic()
    _forget_unsaved_start(directory)
    state = agent.init(random_stream(seed, "init"), *sizes)
    if schedule.pretrain_epochs:
        state = pretrain_on_demos(problem, agent, schedule, seed, state)
    if demos is not None and schedule.demos_in_replay:
        newest = jax.tree.map(lambda column: column[-capacity:], demos.storage)
        replay = insert(replay, newest)
    if demos is not None and schedule.offline_updates:
        state = learn_offline(problem, agent, schedule, seed, state, demos)
    row = _evaluation_row(evaluate_agent(problem, agent, schedule, seed, state))
    progress = Progress(updates=schedule.offline_updates if demos is not None else 0)
    run = _tick(Run(progress, state, replay, demos), began)
    own = metric_names(agent, *sizes, problem.reference.family)
    append_row(directory / METRICS_FILE, {**row, **_counters(run.progress)}, own)
    save_checkpoint(directory / CHECKPOINT_FILE, run.progress, run.state, run.replay)
    return run


def _forget_unsaved_start(directory: Path) -> None:
    """Delete the row of a run that was killed before its first checkpoint; refuse any other."""
    metrics = directory / METRICS_FILE
    if not metrics.exists():
        return
    done = int(max(load_metrics(metrics)["env_steps"], default=0))
    if done:
        raise UserError(
            f"{directory} has metrics up to step {done:,} but no checkpoint: it cannot be "
            "continued, and to start over would delete its history. Restore "
            f"{CHECKPOINT_FILE}, or train anew in another directory."
        )
    remove_file(metrics)


def run_epoch(
    problem: Problem, agent: Agent, schedule: Schedule, seed: int, run: Run
) -> tuple[Run, dict[str, float | None]]:
    """Collect one epoch of steps, cache the reference beside them, update, evaluate."""
    done = run.progress
    key = jax.random.fold_in(random_stream(seed, "epoch"), done.epoch)
    act_key, update_key = jax.random.split(key)
    query = remembering(problem.reference)  # acting and caching may ask about the same states
    act = exploring_policy(agent, run.state, act_key, query)
    if done.env_steps < schedule.random_steps:
        act = random_policy(problem.action_dim, act_key)
    seeds = episode_seeds(seed, "training", done.episodes)
    episodes = collect(problem.env, act, seeds, schedule.epoch_steps)
    replay = insert(run.replay, transitions(episodes, query))
    env_steps = done.env_steps + schedule.epoch_steps
    updates = _updates_due(agent, schedule, env_steps)
    began = time.monotonic()
    batches = schedule.batch_size, problem.reference.family, run.demos
    state, info = run_updates(agent, run.state, replay, update_key, updates, *batches)
    require_finite(state)
    row: dict[str, float | None] = {**info, "train_return_mean": _mean_return(episodes)}
    if updates:
        row["updates_per_second"] = updates / (time.monotonic() - began)
    if _due(env_steps, schedule, "eval_every"):
        row |= _evaluation_row(evaluate_agent(problem, agent, schedule, seed, state))
    progress = replace(
        done,
        epoch=done.epoch + 1,
        env_steps=env_steps,
        episodes=done.episodes + len(episodes),
        updates=done.updates + updates,
    )
    return Run(progress, state, replay, run.demos), row


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


def _evaluation_row(evaluation: Evaluation) -> dict[str, float | None]:
    return {
        "eval_return_mean": evaluation.return_mean,
        "eval_return_std": evaluation.return_std,
        "eval_success_any": evaluation.success_any,
        "eval_success_end": evaluation.success_end,
    }


def _tick(run: Run, began: float) -> Run:
    wall_seconds = run.progress.wall_seconds + time.monotonic() - began
    return replace(run, progress=replace(run.progress, wall_seconds=wall_seconds))


def _counters(progress: Progress) -> dict[str, float]:
    return {
        "env_steps": progress.env_steps,
        "updates": progress.updates,
        "wall_seconds": round(progress.wall_seconds, 3),
    }


def _due(env_steps: int, schedule: Schedule, interval: str) -> bool:
    return env_steps % getattr(schedule, interval) == 0 or env_steps >= schedule.steps


def _mean_return(episodes: list[Episode]) -> float:
    return float(np.mean([float(np.sum(rewards_of(episode))) for episode in episodes]))


def _status(row: Mapping[str, object]) -> str:
    """Success or return, KL and rate, for the progress bar."""
    parts = []
    if row.get("eval_success_any") is not None:
        parts.append(f"success {row['eval_success_any']:.0%}")
    elif row.get("eval_return_mean") is not None:
        parts.append(f"return {row['eval_return_mean']:.0f}")
    else:
        parts.append(f"train return {row['train_return_mean']:.3g}")
    if "kl" in row:
        parts.append(f"KL {row['kl']:.3g}")
    if row.get("updates_per_second"):
        parts.append(f"{row['updates_per_second']:.0f} updates/s")
    return ", ".join(parts)
