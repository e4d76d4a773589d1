"""Judges a run's policy on episodes that no evaluation and no test of the run has used."""

from itertools import islice

import numpy as np

from nppac.agents.base import Agent
from nppac.agents.schedule import Schedule
from nppac.evaluation.evaluate import Evaluation, summarise_episodes
from nppac.evaluation.statistics import mean_interval, share_interval
from nppac.tasks.rollout import Act, episode_seeds, rollout
from nppac.training.epoch import Run
from nppac.training.incumbent import Incumbent
from nppac.training.problem import Problem
from nppac.utils.progress import progress_bar

Judgement = dict[str, object]
QUANTILES = (0.0, 0.1, 0.5, 0.9, 1.0)
"""Of the returns of the fresh episodes: a few failures among many successes hide in a mean."""


def judge_run(
    problem: Problem, agent: Agent, schedule: Schedule, seed: int, run: Run
) -> Judgement | None:
    """The reference's mean, the newest policy and the run's own, on the same fresh episodes.

    The run's own policy is the incumbent; in a run without tests it is the newest.
    """
    if not schedule.final_episodes:
        return None
    query = problem.reference
    policies: dict[str, Incumbent] = {"newest": Incumbent(run.state)}
    if problem.reference.family != "uniform":
        policies["reference"] = Incumbent()
    policies["policy"] = run.incumbent if run.incumbent.challenges else policies["newest"]
    judged: dict[int, dict[str, object]] = {}
    for candidate in policies.values():
        if id(candidate.state) not in judged:
            act = candidate.policy(agent, query)
            judged[id(candidate.state)] = _outcome(_fresh(problem, act, schedule, seed))
    found = {name: judged[id(candidate.state)] for name, candidate in policies.items()}
    return {"episodes": schedule.final_episodes, **found}


def _fresh(problem: Problem, act: Act, schedule: Schedule, seed: int) -> Evaluation:
    """The policy over the final episodes, with progress."""
    seeds, count = episode_seeds(seed, "final"), schedule.final_episodes
    with progress_bar("Judging on fresh episodes", count) as advance:
        done = 0

        def on_episode(_: object) -> None:
            nonlocal done
            done += 1
            advance(done, "")

        episodes = rollout(problem.eval_envs, act, islice(seeds, count), on_episode=on_episode)
    return summarise_episodes(episodes)


def _outcome(evaluation: Evaluation) -> dict[str, object]:
    """Means with 95 % intervals over episodes, [mean, low, high], and `QUANTILES` of the return."""
    returns, count = np.array(evaluation.returns), len(evaluation.returns)
    outcome: dict[str, object] = {
        "return": list(mean_interval(returns)),
        "return_quantiles": np.quantile(returns, QUANTILES).tolist(),
    }
    for name, share in (
        ("success_any", evaluation.success_any),
        ("success_end", evaluation.success_end),
    ):
        if share is not None:
            outcome[name] = list(share_interval(share, count))
    return outcome
