"""Advice that follows from a run's metrics, in one line each."""

from collections.abc import Mapping

from nppac.agents.base import Agent

HARDLY_MOVED = 1e-4
"""A KL to the reference, in nats, below which an anchored policy is its reference."""


def penalty_warning(agent: Agent, row: Mapping[str, float | None]) -> str | None:
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


def stillness_warning(agent: Agent, row: Mapping[str, float | None]) -> str | None:
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
