"""The training loop: collect, cache the reference, update, evaluate, record.

Everything random is derived from (seed, purpose, counter), so that a run that was killed and
resumed is the run that was not.
"""

import os
import signal
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import gymnasium
import jax
import numpy as np
from jaxtyping import PRNGKeyArray

from nppac.agents.base import Agent, ReplayAgent, State
from nppac.checkpoint import Progress, load_checkpoint, save_checkpoint
from nppac.errors import UserError
from nppac.evaluation import Evaluation, evaluate
from nppac.progress import progress_bar
from nppac.references.base import Reference
from nppac.replay import (
    Replay,
    as_replay,
    checked_stats,
    demonstrations,
    empty_replay,
    insert,
    rewards_of,
    transitions,
)
from nppac.results import CHECKPOINT_FILE, METRICS_FILE, append_row, rewind
from nppac.rollout import collect, episode_seeds
from nppac.types import Demonstrated, Episode, ReferenceStats
from nppac.updates import (
    exploring_policy,
    greedy_policy,
    pretrain,
    random_policy,
    reported,
    run_updates,
)

OFFLINE_ROUND = 1_000
"""Gradient steps between two signs of progress while learning from the demonstrations."""

_AT_LEAST_ONE = (
    "steps",
    "epoch_steps",
    "batch_size",
    "replay_capacity",
    "pretrain_batch_size",
    "eval_episodes",
    "eval_envs",
)
_NOT_NEGATIVE = (
    "updates_per_step",
    "warmup_steps",
    "random_steps",
    "offline_updates",
    "pretrain_epochs",
    "pretrain_copies",
    "pretrain_spread",
)


@dataclass(frozen=True)
class Schedule:
    """How long and how often, in environment steps unless said otherwise."""

    steps: int = 50_000
    """Environment steps of the whole run."""
    epoch_steps: int = 1_000
    """Environment steps collected before each round of updates."""
    updates_per_step: float = 1.0
    """Gradient steps per environment step."""
    warmup_steps: int = 1_000
    """Environment steps of the first epochs, which collect but do not update."""
    batch_size: int = 256
    """Transitions in a minibatch."""
    replay_capacity: int = 1_000_000
    """Transitions kept; the oldest are overwritten."""
    random_steps: int = 0
    """Environment steps of the first epochs, which act uniformly at random."""
    demos_in_replay: bool = False
    """Put the demonstrations, which need rewards then, into the replay before the first step."""
    offline_updates: int = 0
    """Gradient steps on the demonstrations alone before the first environment step."""
    pretrain_epochs: int = 0
    """Passes over the demonstrated states in which the policy is pulled to the reference."""
    pretrain_batch_size: int = 64
    """States in a minibatch of pretraining."""
    pretrain_copies: int = 0
    """Noisy copies of each demonstrated state to pretrain on too; the reference labels them."""
    pretrain_spread: float = 0.3
    """Noise of those copies, in standard deviations of each observation."""
    eval_every: int = 5_000
    """Environment steps between evaluations; one is made before the first step too."""
    eval_episodes: int = 10
    """Episodes of each evaluation."""
    eval_envs: int = 4
    """Environments that an evaluation steps side by side."""
    checkpoint_every: int = 10_000
    """Environment steps between checkpoints."""

    def __post_init__(self) -> None:
        for name in _AT_LEAST_ONE:
            if getattr(self, name) < 1:
                raise UserError(f"'{name}' is {getattr(self, name)}; it must be at least 1.")
        for name in _NOT_NEGATIVE:
            if not getattr(self, name) >= 0:
                raise UserError(f"'{name}' is {getattr(self, name)}; it must not be negative.")
        for name in ("steps", "eval_every", "checkpoint_every"):
            value = getattr(self, name)
            if value < 1 or value % self.epoch_steps:
                raise UserError(
                    f"'{name}' is {value}; it must be a positive multiple of the epoch, "
                    f"{self.epoch_steps} steps (change 'epoch_steps' to allow others)."
                )
        if self.replay_capacity < self.epoch_steps:
            raise UserError(
                f"'replay_capacity' is {self.replay_capacity}, less than one epoch of "
                f"{self.epoch_steps} steps."
            )

    @property
    def epochs(self) -> int:
        """Rounds of collecting and updating."""
        return self.steps // self.epoch_steps

    @property
    def updates_per_epoch(self) -> int:
        """Gradient steps in each round."""
        return round(self.epoch_steps * self.updates_per_step)


@dataclass(frozen=True)
class Problem:
    """What a run works on: environments, the frozen reference and the demonstrations."""

    env: gymnasium.Env
    eval_envs: tuple[gymnasium.Env, ...]
    reference: Reference
    demos: tuple[Episode, ...]
    obs_dim: int
    action_dim: int


@dataclass(frozen=True)
class Run:
    """A run in memory at the end of an epoch.

    `demos` are the demonstrations as transitions, where the agent or the replay wants them.
    """

    progress: Progress
    state: State
    replay: Replay
    demos: Replay | None = None


class Interrupted(Exception):
    """Training stopped at the user's wish; everything is in the checkpoint."""


def train(
    problem: Problem,
    agent: Agent,
    schedule: Schedule,
    seed: int,
    directory: Path,
) -> Run:
    """Train to the end of the schedule, from the directory's checkpoint if it has one."""
    run = _start(problem, agent, schedule, seed, directory)
    with (
        _deferred_interrupt() as stop_requested,
        progress_bar("Training", schedule.steps, run.progress.env_steps) as advance,
    ):
        while run.progress.epoch < schedule.epochs:
            began = time.monotonic()
            run, row = run_epoch(problem, agent, schedule, seed, run)
            run = _tick(run, began)
            append_row(directory / METRICS_FILE, {**row, **_counters(run.progress)})
            advance(run.progress.env_steps, _status(row))
            stopping = stop_requested()  # asked once: what stops the run has been saved
            if stopping or _due(run.progress.env_steps, schedule, "checkpoint_every"):
                save_checkpoint(directory / CHECKPOINT_FILE, run.progress, run.state, run.replay)
            if stopping and run.progress.epoch < schedule.epochs:
                raise Interrupted
    return run


def _start(problem: Problem, agent: Agent, schedule: Schedule, seed: int, directory: Path) -> Run:
    """The run at its checkpoint; or a new one, pretrained and evaluated before its first step."""
    demos = _demo_transitions(problem, agent, schedule)
    shown = 0 if demos is None or not schedule.demos_in_replay else demos.capacity
    capacity = min(schedule.replay_capacity, schedule.steps + shown)
    replay = empty_replay(capacity, problem.obs_dim, problem.action_dim)
    state = agent.init(_key(seed, "init"), problem.obs_dim, problem.action_dim)
    checkpoint = directory / CHECKPOINT_FILE
    if checkpoint.exists():
        progress, state, replay = load_checkpoint(checkpoint, state, replay)
        rewind(directory / METRICS_FILE, progress.env_steps)
        return Run(progress, state, replay, demos)
    began = time.monotonic()
    (directory / METRICS_FILE).unlink(missing_ok=True)
    if schedule.pretrain_epochs:
        state = _pretrain(problem, agent, schedule, seed, state)
    if demos is not None and schedule.demos_in_replay:
        newest = jax.tree.map(lambda column: column[-capacity:], demos.storage)
        replay = insert(replay, newest)
    run = _offline(problem, agent, schedule, seed, Run(Progress(), state, replay, demos))
    row = _evaluation_row(evaluate_agent(problem, agent, schedule, seed, run.state))
    run = _tick(run, began)
    own = reported(agent, problem.obs_dim, problem.action_dim, problem.reference.family)
    append_row(directory / METRICS_FILE, {**row, **_counters(run.progress)}, own)
    save_checkpoint(checkpoint, run.progress, run.state, run.replay)
    return run


def _demo_transitions(problem: Problem, agent: Agent, schedule: Schedule) -> Replay | None:
    """The demonstrations as transitions, if anything will read them."""
    read = isinstance(agent, ReplayAgent) or agent.draw(schedule.batch_size).demonstrated
    if not problem.demos or not (read or schedule.demos_in_replay or schedule.offline_updates):
        return None
    return as_replay(demonstrations(problem.demos, lambda obs: _ask(problem.reference, obs)))


def _offline(problem: Problem, agent: Agent, schedule: Schedule, seed: int, run: Run) -> Run:
    """Gradient steps on the demonstrations alone."""
    if not schedule.offline_updates or run.demos is None:
        return run
    state, key = run.state, _key(seed, "offline")
    family, total = problem.reference.family, schedule.offline_updates
    with progress_bar("Learning from the demonstrations", total) as advance:
        for done in range(0, total, OFFLINE_ROUND):
            count = min(OFFLINE_ROUND, total - done)
            round_key = jax.random.fold_in(key, done)
            state, info = run_updates(
                agent, state, run.demos, round_key, count, schedule.batch_size, family, run.demos
            )
            advance(done + count, f"policy loss {info.get('policy_loss', float('nan')):.3g}")
    return replace(run, state=state, progress=replace(run.progress, updates=total))


def run_epoch(
    problem: Problem, agent: Agent, schedule: Schedule, seed: int, run: Run
) -> tuple[Run, dict[str, float | None]]:
    """Collect one epoch of steps, cache the reference beside them, update, evaluate."""
    done = run.progress
    key = jax.random.fold_in(_key(seed, "epoch"), done.epoch)
    act_key, update_key = jax.random.split(key)
    act = exploring_policy(agent, run.state, act_key)
    if done.env_steps < schedule.random_steps:
        act = random_policy(problem.action_dim, act_key)
    seeds = episode_seeds(seed, "training", done.episodes)
    episodes = collect(problem.env, act, seeds, schedule.epoch_steps)
    replay = insert(run.replay, transitions(episodes, problem.reference))
    env_steps = done.env_steps + schedule.epoch_steps
    updates = _updates_due(agent, schedule, env_steps)
    began = time.monotonic()
    state, info = run_updates(
        agent,
        run.state,
        replay,
        update_key,
        updates,
        schedule.batch_size,
        problem.reference.family,
        run.demos,
    )
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


def _pretrain(problem: Problem, agent: Agent, schedule: Schedule, seed: int, state: State) -> State:
    """Let the policy clone what is demonstrated, before any environment step.

    At noisy copies of the states nobody acted: there the reference's mean stands for the expert.
    """
    copies = schedule.pretrain_copies
    shown = np.concatenate([episode.observations[: len(episode)] for episode in problem.demos])
    obs = states_around(shown, copies, schedule.pretrain_spread, seed)
    stats = _ask(problem.reference, obs)
    actions = [episode.actions for episode in problem.demos] + [stats.loc[len(shown) :]]
    states = Demonstrated(obs, np.concatenate(actions).astype(np.float32), stats)
    with progress_bar("Pretraining the policy", schedule.pretrain_epochs) as advance:
        return pretrain(
            agent,
            state,
            states,
            _key(seed, "pretrain"),
            schedule.pretrain_epochs,
            schedule.pretrain_batch_size,
            problem.reference.family,
            advance,
        )


def states_around(obs: np.ndarray, copies: int, spread: float, seed: int) -> np.ndarray:
    """The states, and noisy copies of each: where a policy strays, the reference still answers."""
    rng = np.random.default_rng(seed)
    scale = spread * np.std(obs, axis=0)
    clouds = [obs + scale * rng.standard_normal(obs.shape) for _ in range(copies)]
    return np.concatenate([obs, *clouds]).astype(np.float32)


def _ask(reference: Reference, obs: np.ndarray, chunk: int = 1000) -> ReferenceStats:
    """The reference's statistics at many states, with progress."""
    parts = []
    with progress_bar("Asking the reference", len(obs)) as advance:
        for start in range(0, len(obs), chunk):
            part = obs[start : start + chunk]
            parts.append(checked_stats(reference(part), part))
            advance(start + len(part))
    return ReferenceStats(*(np.concatenate(arrays) for arrays in zip(*parts, strict=True)))


def evaluate_agent(
    problem: Problem, agent: Agent, schedule: Schedule, seed: int, state: State
) -> Evaluation:
    """Evaluate the deterministic policy on the same episodes each time."""
    return evaluate(
        problem.eval_envs,
        greedy_policy(agent, state),
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


def _key(seed: int, purpose: str) -> PRNGKeyArray:
    """An independent stream for each purpose of a run."""
    purposes = ("init", "pretrain", "epoch", "offline")
    return jax.random.fold_in(jax.random.key(seed), purposes.index(purpose))


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


def _status(row: Mapping[str, Any]) -> str:
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


@contextmanager
def _deferred_interrupt() -> Iterator[Callable[[], bool]]:
    """Let the first Ctrl-C finish the epoch and its checkpoint; a second one stops at once."""
    requests: list[int] = []

    def handle(signum: int, frame: object) -> None:
        if requests:
            raise KeyboardInterrupt
        requests.append(signum)
        # Past Python's buffers, which the signal may have found in the middle of a write.
        os.write(2, b"\nFinishing this epoch, then stopping (Ctrl-C again stops at once).\n")

    try:
        previous = signal.signal(signal.SIGINT, handle)
    except ValueError:  # not the main thread: leave signals to whoever owns them
        yield lambda: False
        return
    try:
        yield lambda: bool(requests)
    finally:
        signal.signal(signal.SIGINT, previous)
