"""The contender: of the policies that a run has evaluated, the one that its next test is for.

Policies that fail come and go while a policy learns, and the newest may be one of them.
"""

import math
from dataclasses import dataclass, replace

import jax
import jax.numpy as jnp

from nppac.agents.base import State
from nppac.evaluation.evaluate import Evaluation


@dataclass(frozen=True)
class Contender:
    """A policy, and the best evaluation that it is measured by."""

    state: State
    """Its networks."""
    env_steps: int
    """Environment steps of training after which it was evaluated."""
    best: float = -math.inf
    """Best evaluation since the last test: share of successes, or mean return without any."""
    margin: float = 0.0
    """Standard error of that evaluation."""


def contending(
    contender: Contender | None, evaluation: Evaluation, state: State, env_steps: int
) -> Contender:
    """The contender after an evaluation of the newest policy.

    It is the newest of the policies that were within a standard error of the best before them:
    where evaluations cannot tell policies apart, the one that has learned longer counts.
    """
    score, error = _score(evaluation)
    if contender is None or score > contender.best:
        return Contender(snapshot(state), env_steps, score, error)
    if score >= contender.best - contender.margin:
        return replace(contender, state=snapshot(state), env_steps=env_steps)
    return contender


def snapshot(state: State) -> State:
    """A copy that later updates, which are given the state's own buffers, leave alone."""
    return jax.tree.map(jnp.copy, state)


def _score(evaluation: Evaluation) -> tuple[float, float]:
    """What a test compares, averaged over the episodes, and its standard error."""
    count, share = len(evaluation.returns), evaluation.success_any
    if share is not None:
        return share, math.sqrt(share * (1.0 - share) / count)
    return evaluation.return_mean, evaluation.return_std / math.sqrt(count)
