"""Queries any reference; an answer that is no density becomes a verdict."""

from collections.abc import Callable
from typing import TypeVar

import numpy as np

from nppac.references.base import Reference
from nppac.references.checks import BadAnswer, checked_answer, checked_location
from nppac.types import ReferenceStats
from nppac.utils.errors import UserError

FAMILIES = ("normal", "laplace", "uniform")
T = TypeVar("T")


class BrokenReference(UserError):
    """A reference whose answer is no density; the message says what is wrong and where."""


def query(reference: Reference, obs: np.ndarray, action_dim: int, where: str) -> ReferenceStats:
    """Location and scale (n, d) at the states, or `BrokenReference`; `where` names the states."""
    if reference.family not in FAMILIES:
        raise BrokenReference(
            f"Its family is {reference.family!r}; expected one of {', '.join(FAMILIES)}."
        )
    stats = _ask(lambda: checked_answer(reference(obs), len(obs), "it", action_dim), where)
    return ReferenceStats(*(part.astype(np.float64) for part in stats))


def query_mean(reference: Reference, obs: np.ndarray, action_dim: int, where: str) -> np.ndarray:
    """Location alone, or `BrokenReference`."""
    return _ask(lambda: checked_location(reference.mean(obs), len(obs), "it", action_dim), where)


def _ask(question: Callable[[], T], where: str) -> T:
    try:
        return question()
    except BadAnswer as error:
        raise BrokenReference(f"Asked {where}, {error}") from error
    except Exception as error:  # a user's function can fail in any way
        text = str(error) if isinstance(error, UserError) else f"{type(error).__name__}: {error}"
        raise BrokenReference(f"Asked {where}, it fails: {text}") from error
