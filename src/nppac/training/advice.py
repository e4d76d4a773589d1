"""Advice that follows from a run's metrics, in one line each."""

from collections.abc import Callable
from dataclasses import dataclass

from nppac.agents.base import Agent
from nppac.evaluation.metrics import Row

HARDLY_MOVED = 1e-4
"""A KL to the reference, in nats, below which an anchored policy is its reference."""
SUNK = 0.3
"""How far critics may be below the returns, as a fraction of these."""


@dataclass
class LastingWarning:
    """A warning that is given once, as soon as it has held for several epochs in a row."""

    warning: Callable[[Agent, Row], str | None]
    epochs: int
    held: int = 0

    def __call__(self, agent: Agent, row: Row) -> str | None:
        """The warning, at the one epoch at which it is due."""
        found = self.warning(agent, row)
        self.held = self.held + 1 if found or self.held >= self.epochs else 0
        return found if self.held == self.epochs else None


def lasting_warnings() -> list[LastingWarning]:
    """What a run watches: an epoch has few episodes, and young critics are always behind."""
    return [LastingWarning(penalty_warning, 3), LastingWarning(pessimism_warning, 20)]


def penalty_warning(agent: Agent, row: Row) -> str | None:
    """A warning where the critics' target holds more penalty than reward."""
    if not getattr(agent, "backup_kl", False) or not getattr(agent, "uses_reference", False):
        return None
    penalty, reward = row.get("penalty_per_step"), row.get("reward_per_step")
    if penalty is None or reward is None or abs(penalty) <= abs(reward):
        return None
    return (
        f"The KL penalty in the critics' target, {penalty:.3g} a step, outweighs the reward, "
        f"{reward:.3g} a step: the critics mostly learn the penalty. --no-backup-kl leaves it out "
        "of the target; a smaller --temperature shrinks it."
    )


def pessimism_warning(agent: Agent, row: Row) -> str | None:
    """A warning where the minimum of several critics is far below the returns.

    A penalty in the target lowers values by right, and such critics are not judged.
    """
    if getattr(agent, "backup_kl", True) or getattr(agent, "num_min_qs", 1) == 1:
        return None
    bias, returns = row.get("value_bias"), row.get("value_return")
    if bias is None or returns is None or bias >= -SUNK * abs(returns):
        return None
    return (
        f"The critics' values are {-bias:.3g} below the returns, which are {returns:.3g}: the "
        "minimum of several critics may be too pessimistic. --num-min-qs 1 --policy-value mean "
        "takes no minimum."
    )


def stillness_warning(agent: Agent, row: Row) -> str | None:
    """A warning where an anchored policy could not leave its reference."""
    kl = row.get("kl")
    if not agent.anchored or kl is None or kl >= HARDLY_MOVED:
        return None
    return (
        f"The policy has hardly moved from its reference (KL {kl:.1g}). If it should improve, give "
        "it more room: a smaller --temperature, a larger --min-unit, or more --steps."
    )


def policy_waits(agent: Agent, updates: int) -> bool:
    """Whether only the critics have learned so far."""
    wait = getattr(agent, "critic_warmup_updates", 0)
    return bool(wait) and updates <= wait


def waiting_note(agent: Agent, updates: int) -> str:
    """Why the policy does not change yet; nothing once it does."""
    if not policy_waits(agent, updates + 1):  # it is the next update that counts
        return ""
    if not updates:
        return "collecting first data"
    wait = getattr(agent, "critic_warmup_updates", 0)
    return f"critics warm up, policy waits until update {wait:,}"
