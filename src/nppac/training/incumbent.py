"""The incumbent: the policy that a run hands out, never replaced without evidence.

It begins as the reference's mean. A learned policy, the contender, replaces it only if a sequential
paired test on fresh episodes finds it better, at an error rate that all tests of the run share.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice

import jax
import numpy as np

from nppac.agents.base import Agent, SearchingAgent, State, knows_lost
from nppac.agents.schedule import Schedule
from nppac.evaluation.sequential_test import PairedTest, error_rate_of
from nppac.tasks.rollout import Act, episode_seeds, rollout
from nppac.training.contender import Contender, snapshot
from nppac.training.problem import Problem
from nppac.training.updates import ReferenceQuery, greedy_policy
from nppac.types import Actions, Episode, Obs, ReferenceStats

FEWEST_EPISODES = 12
"""A challenger that is no better after so many episodes has lost: more would cost too much."""


@dataclass(frozen=True)
class Incumbent:
    """The policy that a run hands out, and what it took to choose it."""

    state: State | None = None
    """Its networks; None is the reference's mean."""
    env_steps: int = 0
    """Environment steps of training after which it was chosen."""
    challenges: int = 0
    """Tests that the run has made."""
    promotions: int = 0
    """Tests that a newer policy has won."""
    test_steps: int = 0
    """Environment steps that all tests have cost."""
    unit: float = 0.0
    """Typical difference between two episodes' scores, which the test is scaled to."""
    scores: tuple[float, ...] = ()
    """Its scores in the first episodes of its tests: they serve for every challenger."""
    returns: tuple[float, ...] = ()
    """Its returns there."""
    differences: tuple[float, ...] = ()
    """How much better the challenger was than the incumbent in each episode of the last test."""
    challenger_from: int = 0
    """Environment steps of training of the policy in the last test."""
    contender: Contender | None = None
    """The policy that the next test is for, as far as any was evaluated since the last one."""

    def policy(self, agent: Agent, query: ReferenceQuery) -> Act:
        """What it does."""
        if self.state is None:
            return reference_policy(agent, query)
        return greedy_policy(agent, self.state, query)


def reference_policy(agent: Agent, query: ReferenceQuery) -> Act:
    """The reference's mean; where the agent searches off the data, it does so too."""
    searching = partial(_searching, agent) if knows_lost(agent) else None  # once, not at each step

    def act(obs: np.ndarray) -> np.ndarray:
        stats = query(obs)
        action = searching(obs, stats) if searching else stats.loc
        return np.asarray(action, np.float32)

    return act


@partial(jax.jit, static_argnames="agent")
def _searching(agent: SearchingAgent, obs: Obs, stats: ReferenceStats) -> Actions:
    return agent.searching(stats.loc, obs, stats)


def challenge(
    problem: Problem,
    agent: Agent,
    schedule: Schedule,
    seed: int,
    incumbent: Incumbent,
    challenger: Contender,
) -> Incumbent:
    """The incumbent after a test of the challenger, which may have taken its place.

    The incumbent's own episodes are kept: they say nothing of a challenger, so that each new one
    may be compared with them. One that has won was chosen by them, and begins with fresh ones.
    """
    incumbent = _challenged_by(challenger, incumbent)
    error_rate = error_rate_of(incumbent.challenges, schedule.error_rate)
    seeds = episode_seeds(seed, f"challenge {incumbent.promotions}")
    policy = greedy_policy(agent, challenger.state, problem.reference)
    test = PairedTest(unit=incumbent.unit)
    while test.episodes < schedule.challenge_episodes:
        count = min(len(problem.eval_envs), schedule.challenge_episodes - test.episodes)
        block = slice(test.episodes, test.episodes + count)
        numbers = list(islice(seeds, count))
        incumbent = _known_to(block.stop, problem, agent, incumbent, numbers)
        episodes = rollout(problem.eval_envs, policy, numbers)
        incumbent = _costing(incumbent, episodes)
        scores = [score_of(episode) for episode in episodes]
        if not test.episodes and [return_of(e) for e in episodes] == [*incumbent.returns[block]]:
            return incumbent  # the policy has not moved yet
        found = np.subtract(scores, incumbent.scores[block]).tolist()
        test = test.updated(found)
        incumbent = replace(incumbent, differences=(*incumbent.differences, *found))
        if test.is_better(error_rate):
            return _succeeded_by(challenger, incumbent)
        if test.episodes >= FEWEST_EPISODES and test.mean <= 0.0:
            break
    return incumbent


def _challenged_by(challenger: Contender, incumbent: Incumbent) -> Incumbent:
    """The incumbent before the first episode of a test."""
    return replace(
        incumbent,
        challenges=incumbent.challenges + 1,
        challenger_from=challenger.env_steps,
        contender=None,
        differences=(),
    )


def _succeeded_by(challenger: Contender, incumbent: Incumbent) -> Incumbent:
    """The new incumbent, whose own episodes are still to come."""
    return replace(
        incumbent,
        state=snapshot(challenger.state),
        env_steps=challenger.env_steps,
        promotions=incumbent.promotions + 1,
        scores=(),
        returns=(),
    )


def _known_to(
    count: int, problem: Problem, agent: Agent, incumbent: Incumbent, seeds: list[int]
) -> Incumbent:
    """The incumbent with at least so many of its scores known; the last belong to `seeds`."""
    missing = count - len(incumbent.scores)
    if missing <= 0:
        return incumbent
    policy = incumbent.policy(agent, problem.reference)
    episodes = rollout(problem.eval_envs, policy, seeds[-missing:])
    incumbent = _costing(incumbent, episodes)
    return replace(
        incumbent,
        scores=(*incumbent.scores, *map(score_of, episodes)),
        returns=(*incumbent.returns, *map(return_of, episodes)),
    )


def _costing(incumbent: Incumbent, episodes: list[Episode]) -> Incumbent:
    steps = sum(len(episode) for episode in episodes)
    return replace(incumbent, test_steps=incumbent.test_steps + steps)


def challenges_due(schedule: Schedule) -> Iterator[int]:
    """Environment steps after which the contender challenges the incumbent."""
    for i in range(1, schedule.challenges + 1):
        epochs = round(i * schedule.epochs / schedule.challenges)
        yield max(1, epochs) * schedule.epoch_steps


def score_of(episode: Episode) -> float:
    """Whether an episode succeeds at any step; its return where the task reports no success."""
    if episode.successes is not None:
        return float(np.any(episode.successes))
    return return_of(episode)


def return_of(episode: Episode) -> float:
    """Undiscounted return."""
    assert episode.rewards is not None
    return float(episode.rewards.sum(dtype=np.float64))
