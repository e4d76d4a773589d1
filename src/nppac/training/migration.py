"""Configurations of older versions in the names of this one.

A file says its version; one that says nothing is of version 1. Each step takes a configuration from
one version to the next, so that a new version adds a step and changes none.
"""

from collections.abc import Callable, Mapping

from nppac.references import migrate_network_settings
from nppac.references.gp.config import GP_NAMES
from nppac.utils.errors import UserError

VERSION = 2

_Config = dict[str, object]

KL_METHODS = ("nppac", "nppac-anchored", "brac", "sac", "sacfd", "sac-bc", "rlpd")
"""Methods whose agent was a KL actor-critic in version 1."""

AGENT_NAMES = {
    "critics": "num_qs",
    "smoothing": "tau",
    "target_critics": "num_min_qs",
    "demo_share": "offline_ratio",
    "penalise_target": "backup_kl",
    "lookahead": "n_step",
    "trace": "gae_lambda",
    "clone_learning_rate": "pretrain_learning_rate",
    "exploration": "exploration_noise",
    "relative": "temperature_in_q_units",
    "spread": "noise_ratio",
    "reach": "max_correction",
    "policy_waits": "critic_warmup_updates",
    "averaged": "policy_ema_updates",
}
"""Settings of agents that were renamed after version 1, whichever agent had them."""
KL_NAMES = {"critic_updates": "utd_ratio"}
"""The same for KL actor-critics alone: in other agents the old name still means itself."""


def migrate(config: Mapping[str, object], where: str = "The configuration") -> _Config:
    """The configuration in the names of this version; `where` names it in errors."""
    version = config.get("version", 1)
    if isinstance(version, bool) or not isinstance(version, int) or version < 1:
        raise UserError(f"{where}: 'version' is {version!r:.50}; it must be a whole number.")
    if version > VERSION:
        raise UserError(
            f"{where} is of version {str(version)[:20]}, and this nppac knows only up to "
            f"{VERSION}. Install a newer nppac."
        )
    migrated = dict(config)
    for step in STEPS[version - 1 :]:
        migrated = step(migrated, where)
    return {**migrated, "version": VERSION}


def _from_1(config: _Config, where: str) -> _Config:
    """Names of the field in place of our own, and entropies as entropies."""
    kl = config.get("method", "nppac") in KL_METHODS
    names = {**AGENT_NAMES, **KL_NAMES} if kl else AGENT_NAMES
    parts = {
        "agent": lambda values: _negated(_renamed(values, names, where), "entropy_target"),
        "gp": lambda values: _renamed(values, GP_NAMES, where),
        "network": lambda values: _network(values, where),
    }
    changed = {name: change(_part(config, name)) for name, change in parts.items()}
    return {**config, **{name: value for name, value in changed.items() if value is not None}}


STEPS: tuple[Callable[[_Config, str], _Config], ...] = (_from_1,)
"""From version 1 to 2, from 2 to 3, and so on."""


def _part(config: _Config, name: str) -> _Config | None:
    """A part of the configuration; None where it is absent, or not what it should be."""
    part = config.get(name)
    return {str(key): value for key, value in part.items()} if isinstance(part, dict) else None


def _renamed(values: _Config | None, names: Mapping[str, str], where: str) -> _Config | None:
    if values is None:
        return None
    for old, new in names.items():
        if old in values and new in values:
            raise UserError(f"{where} gives '{new}' twice: its older name is '{old}'.")
    return {names.get(name, name): value for name, value in values.items()}


def _negated(values: _Config | None, name: str) -> _Config | None:
    """An entropy that was given as its negative."""
    number = (values or {}).get(name)
    if values is None or isinstance(number, bool) or not isinstance(number, int | float):
        return values
    return {**values, name: -number}


def _network(values: _Config | None, where: str) -> _Config | None:
    """The entropy target was a sum over the actions, by default minus their number."""
    if values is None:
        return None
    if values.get("entropy_target") is not None:
        raise UserError(
            f"{where}: 'network.entropy_target' of version 1 is a sum over the actions. Divide it "
            f'by their number, and add "version": {VERSION} to the file.'
        )
    return migrate_network_settings(values)
