"""A guard against references that are too narrow to learn from.

The gradient of log π0 grows as one over the variance of π0 (the paper's Proposition 1). With a
variance of 1e-8 nothing becomes NaN, but the KL is in the millions and drowns every reward.
"""

import sys
from collections.abc import Mapping

import numpy as np

from nppac.training.loop import Callback
from nppac.training.problem import Problem
from nppac.utils.errors import UserError

LEAST_VARIANCE = 1e-6
"""Median variance on the demonstrated states, in action units², below which no run begins."""
NARROW_VARIANCE = 1e-4
"""Below this in any action dimension, there is a note."""
LARGEST_KL = 1e5
"""Nats, as a mean over the updates of an epoch; beyond it there is a note while training."""
STATES = 256
"""Number of demonstrated states that are queried."""
OFF = 0.1
"""How far an action is off in the examples of messages."""
REMEDY = (
    "`nppac doctor` shows where it is narrow. Use the GP (--reference gp), a larger variance "
    "or a floor (--network.variance-floor 0.01)"
)


def check_width(problem: Problem, what: str) -> None:
    """Refuse a reference that is far too narrow on demonstrated states; tell of a narrow one."""
    if problem.reference.family == "uniform":
        return
    scale = problem.reference(_states(problem)).scale
    variance = np.square(np.asarray(scale, np.float64))
    median, tightest = float(np.median(variance)), float(np.median(variance, axis=0).min())
    if median < LEAST_VARIANCE:
        raise UserError(
            f"{what} has a variance of {median:.2g} at the demonstrated states (median); a run "
            f"needs {LEAST_VARIANCE:g}. {_proposition(median)} Training would only follow the "
            f"reference, or diverge. {REMEDY}."
        )
    if tightest < NARROW_VARIANCE:
        print(
            f"Note: {what} has a variance of only {tightest:.2g} at the demonstrated states in one "
            f"action dimension. {_proposition(tightest)} If training does not get off the ground: "
            f"{REMEDY}.",
            file=sys.stderr,
        )


def _states(problem: Problem) -> np.ndarray:
    """Some demonstrated states; without demonstrations the origin."""
    if not problem.demos:
        return np.zeros((1, problem.obs_dim), np.float32)
    obs = np.concatenate([e.observations[: len(e)] for e in problem.demos])
    rows = np.linspace(0, len(obs) - 1, min(len(obs), STATES)).astype(int)
    return obs[rows]


def _proposition(variance: float) -> str:
    return (
        f"The gradient of its log-density grows as one over the variance (Proposition 1): an "
        f"action that is {OFF:g} off meets a gradient of {OFF / variance:.2g} and costs "
        f"{OFF**2 / variance / 2:.2g} nats."
    )


def watching(callback: Callback | None) -> Callback:
    """The callback, and a note in the first epoch whose KL to the reference has exploded."""
    told = False

    def call(row: Mapping[str, float | None]) -> None:
        nonlocal told
        kl = row.get("kl")
        if not told and kl is not None and kl > LARGEST_KL:
            told = True
            print(_explosion(kl, row), file=sys.stderr)
        if callback is not None:
            callback(row)

    return call


def _explosion(kl: float, row: Mapping[str, float | None]) -> str:
    gradient = row.get("policy_gradient")
    steep = "" if gradient is None else f" and the policy's gradient is {gradient:.2g}"
    return (
        f"Note: at step {row.get('env_steps')} the KL to the reference is {kl:.2g} nats{steep}: "
        "the reference is too sure of itself where the policy is now, and its KL drowns the "
        f"rewards (Proposition 1). {REMEDY}, or a smaller --temperature."
    )
