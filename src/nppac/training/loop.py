"""The training loop: collect, cache the reference, update, evaluate, record.

Everything random is derived from (seed, purpose, counter), so that a run that was killed and
resumed is the run that was not.
"""

import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import jax

from nppac.agents.base import Agent, State, knows_lost
from nppac.agents.replay import empty_replay, insert
from nppac.agents.schedule import Schedule
from nppac.evaluation.evaluate import Evaluation
from nppac.evaluation.metrics import EPISODES, METRICS_FILE, append_row, load_metrics, rewind
from nppac.evaluation.statistics import normal_interval, share_interval
from nppac.training.advice import lasting_warnings, stillness_warning, waiting_note
from nppac.training.checkpoint import Progress, load_newest, save_checkpoint
from nppac.training.contender import snapshot
from nppac.training.directory import CHECKPOINT_FILE, CONFIG_FILE
from nppac.training.epoch import Run, evaluate_agent, evaluation_row, is_due, run_epoch
from nppac.training.incumbent import Incumbent
from nppac.training.memory import reported_by, state_shapes
from nppac.training.pretraining import (
    demo_transitions,
    fresh_state,
    learn_offline,
    pretrain_on_demos,
)
from nppac.training.problem import Problem
from nppac.training.signals import Interrupted, stopping_after_epoch
from nppac.training.value_error import ValuedAgent
from nppac.utils.errors import UserError
from nppac.utils.files import remove_file
from nppac.utils.progress import progress_bar

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
    watched, row = lasting_warnings(), {}
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
            advance(run.progress.env_steps, _status(row, waiting_note(agent, run.progress.updates)))
            for warning in watched:
                _warn(warning(agent, row))
            stopping = stop_requested()  # asked once: what stops the run has been saved
            if stopping or is_due(run.progress.env_steps, schedule, "checkpoint_every"):
                _save(run, directory)
            if callback is not None:
                callback(row)
            if stopping and run.progress.epoch < schedule.epochs:
                raise Interrupted(stopping)
    _warn(stillness_warning(agent, row))
    return run


def _warn(warning: str | None) -> None:
    """Print a warning, if there is one."""
    if warning:
        print(warning, file=sys.stderr)


def _start(problem: Problem, agent: Agent, schedule: Schedule, seed: int, directory: Path) -> Run:
    """The run at its checkpoint; or a new one, pretrained and evaluated before its first step."""
    demos = demo_transitions(problem, agent, schedule)
    shown = 0 if demos is None or not schedule.demos_in_replay else demos.capacity
    capacity = min(schedule.replay_capacity, schedule.steps + shown)
    replay = empty_replay(capacity, problem.obs_dim, problem.action_dim)
    sizes = problem.obs_dim, problem.action_dim
    found = load_newest(directory, state_shapes(agent, *sizes), replay)
    if found is not None:
        _check_place(found.progress, schedule, directory)
        rewind(directory / METRICS_FILE, found.progress.env_steps)
        return Run(found.progress, found.state, found.replay, demos, found.incumbent)
    began = time.monotonic()
    _forget_unsaved_start(directory)
    state = fresh_state(problem, agent, seed)
    if schedule.pretrain_epochs:
        state = pretrain_on_demos(problem, agent, schedule, seed, state)
    if demos is not None and schedule.demos_in_replay:
        newest = jax.tree.map(lambda column: column[-capacity:], demos.storage)
        replay = insert(replay, newest)
    if demos is not None and schedule.offline_updates:
        state = learn_offline(problem, agent, schedule, seed, state, demos)
    first = evaluate_agent(problem, agent, schedule, seed, state)
    progress = Progress(updates=schedule.offline_updates if demos is not None else 0)
    incumbent = first_incumbent(problem, first, state)
    run = _tick(Run(progress, state, replay, demos, incumbent), began)
    row = {**evaluation_row(first), **_counters(run.progress)}
    append_row(directory / METRICS_FILE, row, _own_columns(problem, agent, schedule))
    _save(run, directory)
    return run


def _check_place(progress: Progress, schedule: Schedule, directory: Path) -> None:
    """Refuse a checkpoint of a run with other epochs: its steps would be counted wrongly."""
    if progress.env_steps != progress.epoch * schedule.epoch_steps:
        raise UserError(
            f"The checkpoint in {directory} is at step {progress.env_steps:,} after "
            f"{progress.epoch:,} epochs, but 'epoch_steps' of its {CONFIG_FILE} is "
            f"{schedule.epoch_steps:,}. Restore the one that it was made with."
        )


def _save(run: Run, directory: Path) -> None:
    path = directory / CHECKPOINT_FILE
    save_checkpoint(path, run.progress, run.state, run.replay, run.incumbent)


def first_incumbent(problem: Problem, first: Evaluation, state: State) -> Incumbent:
    """The reference's mean, or the initial policy where the reference knows nothing."""
    unit = 1.0 if first.success_any is not None else first.return_std
    unknowing = problem.reference.family == "uniform"
    return Incumbent(snapshot(state) if unknowing else None, unit=unit)


def _own_columns(problem: Problem, agent: Agent, schedule: Schedule) -> tuple[str, ...]:
    """The columns of the metrics that not every run has."""
    sizes = problem.obs_dim, problem.action_dim
    reported = reported_by(agent, schedule, *sizes, problem.reference.family)
    values = ("value_return", "value_bias", "value_error")
    tests = ("incumbent_from", "test_steps")
    return (
        EPISODES,
        "reward_per_step",
        *(("lost_share",) if knows_lost(agent) else ()),
        *(values if isinstance(agent, ValuedAgent) else ()),
        *(tests if schedule.challenges else ()),
        *reported,
    )


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


def _tick(run: Run, began: float) -> Run:
    wall_seconds = run.progress.wall_seconds + time.monotonic() - began
    return replace(run, progress=replace(run.progress, wall_seconds=wall_seconds))


def _counters(progress: Progress) -> dict[str, float]:
    return {
        "env_steps": progress.env_steps,
        "updates": progress.updates,
        "wall_seconds": round(progress.wall_seconds, 3),
    }


def _evaluation_text(row: Mapping[str, float | None]) -> str:
    """An evaluation with its 95 % interval over episodes."""
    count, success = int(row[EPISODES] or 0), row.get("eval_success_any")
    if success is not None:
        share = share_interval(success, count)
        return f"success {share.estimate:.0%} ({share.low:.0%} to {share.high:.0%})"
    mean, deviation = row["eval_return_mean"] or 0.0, row["eval_return_std"] or 0.0
    interval = normal_interval(mean, deviation, count)
    return f"return {mean:,.0f} ({interval.low:,.0f} to {interval.high:,.0f})"


def _status(row: Mapping[str, float | None], note: str) -> str:
    """Success or return, KL and rate, for the progress bar, and why nothing changes yet."""
    parts = [note] if note else []
    if row.get(EPISODES):
        parts.append(_evaluation_text(row))
    else:
        parts.append(f"train return {row['train_return_mean']:.3g}")
    if "kl" in row:
        parts.append(f"KL {row['kl']:.3g}")
    if row.get("updates_per_second"):
        parts.append(f"{row['updates_per_second']:.0f} updates/s")
    return ", ".join(parts)
