"""What comes before the first step in the environment: cloning, and learning from demonstrations.

Everything random is derived from (seed, purpose, counter).
"""

import jax
import numpy as np

from nppac.agents.base import Agent, CalibratedAgent, ReplayAgent, StandardisingAgent, State
from nppac.agents.replay import Replay, as_replay
from nppac.agents.schedule import Schedule
from nppac.references.base import Reference
from nppac.training.problem import Problem
from nppac.training.transitions import checked_stats, demonstrations
from nppac.training.updates import pretrain, run_updates
from nppac.types import DemoBatch, ReferenceStats
from nppac.utils.progress import progress_bar
from nppac.utils.random import random_stream

OFFLINE_ROUND = 1_000
"""Gradient steps between two signs of progress while learning from the demonstrations."""


def fresh_state(problem: Problem, agent: Agent, seed: int) -> State:
    """Fresh networks; where the agent wants it, they see the demonstrations' units.

    Without demonstrations, as with a reference of the user's own, they see observations as they
    are.
    """
    sizes = problem.obs_dim, problem.action_dim
    state = agent.init(random_stream(seed, "init"), *sizes)
    if not isinstance(agent, StandardisingAgent) or not problem.demos:
        return state
    actions = np.concatenate([episode.actions for episode in problem.demos])
    return agent.with_demo_units(state, _shown_states(problem), actions)


def demo_transitions(problem: Problem, agent: Agent, schedule: Schedule) -> Replay | None:
    """The demonstrations as transitions, if anything will read them."""
    read = isinstance(agent, ReplayAgent) or agent.batch_spec(schedule.batch_size).demonstrated
    if not problem.demos or not (read or schedule.demos_in_replay or schedule.offline_updates):
        return None
    return as_replay(demonstrations(problem.demos, lambda obs: _query(problem.reference, obs)))


def learn_offline(
    problem: Problem,
    agent: Agent,
    schedule: Schedule,
    seed: int,
    state: State,
    demos: Replay,
) -> State:
    """Gradient steps on the demonstrations alone."""
    key, total = random_stream(seed, "offline"), schedule.offline_updates
    size, family = schedule.batch_size, problem.reference.family
    if isinstance(agent, CalibratedAgent):
        state = agent.calibrated(state, demos)
    with progress_bar("Learning from the demonstrations", total) as advance:
        for done in range(0, total, OFFLINE_ROUND):
            count = min(OFFLINE_ROUND, total - done)
            round_key = jax.random.fold_in(key, done)
            state, info = run_updates(agent, state, demos, round_key, count, size, family, demos)
            advance(done + count, f"policy loss {info.get('policy_loss', float('nan')):.3g}")
    return state


def pretrain_on_demos(
    problem: Problem, agent: Agent, schedule: Schedule, seed: int, state: State
) -> State:
    """Let the policy clone what is demonstrated, before any environment step.

    At noisy copies of the states nobody acted: there the reference's mean stands for the expert.
    """
    copies = schedule.pretrain_copies
    shown = _shown_states(problem)
    obs = states_around(shown, copies, schedule.pretrain_spread, seed)
    stats = _query(problem.reference, obs)
    actions = [episode.actions for episode in problem.demos] + [stats.loc[len(shown) :]]
    states = DemoBatch(obs, np.concatenate(actions).astype(np.float32), stats)
    with progress_bar("Pretraining the policy", schedule.pretrain_epochs) as advance:
        return pretrain(
            agent,
            state,
            states,
            random_stream(seed, "pretrain"),
            schedule.pretrain_epochs,
            schedule.pretrain_batch_size,
            problem.reference.family,
            advance,
        )


def _shown_states(problem: Problem) -> np.ndarray:
    return np.concatenate([episode.observations[: len(episode)] for episode in problem.demos])


def states_around(obs: np.ndarray, copies: int, spread: float, seed: int) -> np.ndarray:
    """The states, and noisy copies of each: where a policy strays, the reference still answers."""
    rng = np.random.default_rng(seed)
    scale = spread * np.std(obs, axis=0)
    clouds = [obs + scale * rng.standard_normal(obs.shape) for _ in range(copies)]
    return np.concatenate([obs, *clouds]).astype(np.float32)


def _query(reference: Reference, obs: np.ndarray, chunk: int = 1000) -> ReferenceStats:
    """The reference's statistics at many states, with progress."""
    parts = []
    with progress_bar("Querying the reference", len(obs)) as advance:
        for start in range(0, len(obs), chunk):
            part = obs[start : start + chunk]
            parts.append(checked_stats(reference(part), part))
            advance(start + len(part))
    return ReferenceStats(*(np.concatenate(arrays) for arrays in zip(*parts, strict=True)))
