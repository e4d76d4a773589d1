"""Everything that determines a run, and its file."""

import dataclasses
from dataclasses import field
from pathlib import Path

from pydantic import SkipValidation

from nppac.agents.base import Agent, MinibatchAgent, ReplayAgent
from nppac.agents.kl_actor_critic import KLActorCritic
from nppac.agents.registry import get_method
from nppac.agents.schedule import Schedule
from nppac.demos.metadata import ActionUnits
from nppac.references import GPConfig, NetworkConfig, custom_config_class
from nppac.training.directory import CONFIG_FILE
from nppac.training.migration import VERSION, migrate
from nppac.training.trust import named_code, require_trust
from nppac.utils.errors import UserError, nearest_path
from nppac.utils.files import read_json
from nppac.utils.settings import Count, Seed, plain_settings, read_settings, settings

NOTES = ("version", "provenance")
"""What a file says beside the settings."""


@settings
class RunConfig:
    """Everything that determines a run."""

    task: str = "door"
    """A task of the paper (halfcheetah, walker2d, ant, door, pen) or any Gymnasium id."""
    method: str = "nppac"
    """A name that `nppac methods` lists, or your own agent as module:Agent."""
    demos: str | None = None
    """Demonstrations: a file of any known format, a Minari id or an embedded name."""
    demo_episodes: Count | None = None
    """Use only the first so many demonstrations."""
    demo_actions: ActionUnits = "auto"
    """Units of their actions: [-1, 1], the environment's own, or what the file says."""
    reference: str = "gp"
    """A name that `nppac references` lists, the file of a saved one, or your own module:name."""
    seed: Seed = 0
    """Seed of everything random."""
    agent: SkipValidation[Agent] = field(default_factory=KLActorCritic)
    """The method's agent, which is also its settings."""
    schedule: Schedule = field(default_factory=Schedule)
    """How long and how often."""
    gp: GPConfig = field(default_factory=GPConfig)
    """How the GP is fitted and queried."""
    network: NetworkConfig = field(default_factory=NetworkConfig)
    """How a reference that is made of networks is fitted."""
    custom: object | None = None
    """Settings of a reference class of your own."""

    def __post_init__(self) -> None:
        if not isinstance(self.agent, MinibatchAgent | ReplayAgent):
            raise UserError(
                f"'agent' is a {type(self.agent).__name__}, which is no agent: it needs the "
                "methods that nppac.agents.base describes."
            )


def to_json(config: RunConfig) -> dict[str, object]:
    """The configuration as plain data."""
    return {"version": VERSION, **plain_settings(config)}


def read_config(directory: str | Path, *, trust: bool = False) -> RunConfig:
    """The configuration of a run's directory.

    A method of the user's own is imported to read its settings. So a run that names code is refused
    unless it was made here, or with `trust`.
    """
    path = _config_file(directory)
    require_trust(directory, trust)
    return config_from(read_values(path), str(path))


def plain_config(directory: str | Path) -> dict[str, object]:
    """The configuration of a run's directory as plain data; nothing that it names is imported."""
    path = _config_file(directory)
    values = read_values(path)
    if named_code(values):
        return {name: value for name, value in values.items() if name not in NOTES}
    return to_json(config_from(values, str(path)))


def _config_file(directory: str | Path) -> Path:
    if not Path(directory).is_dir():
        raise UserError(f"There is no run directory {directory}.{nearest_path(directory)}")
    path = Path(directory) / CONFIG_FILE
    if not path.exists():
        raise UserError(f"{directory} is not the directory of a run: it has no {CONFIG_FILE}.")
    return path


def read_values(path: str | Path) -> dict[str, object]:
    """What a configuration's file says, in the names of this version."""
    try:
        stored = read_json(path)
    except RecursionError:
        raise UserError(f"{path} is nested too deeply for a configuration.") from None
    if not isinstance(stored, dict):
        raise UserError(f"{path} does not hold the configuration of a run: expected an object.")
    return migrate(stored, str(path))


def config_from(values: dict[str, object], where: str) -> RunConfig:
    """The configuration that plain data describe; what they leave out has its default.

    The method says which settings `agent` has, and a reference of the user's own says it of
    `custom`.
    """
    apart = ("agent", "custom", *NOTES)
    plain = {name: value for name, value in values.items() if name not in apart}
    config = read_settings(RunConfig, plain, where)
    try:
        kind = get_method(config.method).agent
    except UserError as error:
        raise UserError(f"{where}: 'method': {error}") from error
    agent = read_settings(kind, values.get("agent", {}), f"{where}: 'agent'")
    return dataclasses.replace(
        config, agent=agent, custom=_custom(config.reference, values.get("custom"), where)
    )


def custom_class(reference: str) -> type | None:
    """The class of a user's own reference's settings; None where the reference has none."""
    own = ":" in reference and not reference.startswith("mixed:")
    return custom_config_class(reference) if own and not Path(reference).is_file() else None


def _custom(reference: str, values: object, where: str) -> object | None:
    """The settings of a user's own reference; its module is imported only where there are some."""
    if values is None:
        return None
    kind = custom_class(reference)
    if kind is None:
        raise UserError(f"{where}: 'custom' is given, but '{reference}' has no such settings.")
    return read_settings(kind, values, f"{where}: 'custom'")
