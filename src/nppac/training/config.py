"""Everything that determines a run, and its file."""

import dataclasses
import json
import types
import typing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from nppac.agents.kl_actor_critic import KLActorCritic
from nppac.agents.registry import get_method
from nppac.agents.schedule import Schedule
from nppac.references import GPConfig, NetworkConfig
from nppac.training.directory import CONFIG_FILE
from nppac.utils.errors import UserError, check_seed, nearest_path
from nppac.utils.files import read_json


@dataclass(frozen=True)
class RunConfig:
    """Everything that determines a run."""

    task: str = "door"
    """A task's name, or any Gymnasium id."""
    method: str = "nppac"
    """The method that the other settings make up, for the record."""
    demos: str | None = None
    """Demonstrations: a file, a Minari id or the name of embedded ones."""
    demo_episodes: int | None = None
    """Use only the first so many demonstrations."""
    reference: str = "gp"
    """Reference policy: a name to fit, `module:function`, or the file of a saved one."""
    seed: int = 0
    """Seed of everything random."""
    agent: Any = field(default_factory=KLActorCritic)
    """The method's agent, which is also its settings."""
    gp: GPConfig = field(default_factory=GPConfig)
    """How the GP is fitted and asked."""
    network: NetworkConfig = field(default_factory=NetworkConfig)
    """How a reference that is made of networks is fitted."""
    schedule: Schedule = field(default_factory=Schedule)
    """How long and how often."""

    def __post_init__(self) -> None:
        check_seed(self.seed)


def to_json(config: RunConfig) -> dict[str, Any]:
    """The configuration as plain data."""
    return json.loads(json.dumps(dataclasses.asdict(config)))


def read_config(directory: str | Path) -> RunConfig:
    """The configuration of a run's directory."""
    if not Path(directory).is_dir():
        raise UserError(f"There is no run directory {directory}.{nearest_path(directory)}")
    path = Path(directory) / CONFIG_FILE
    if not path.exists():
        raise UserError(f"{directory} is not the directory of a run: it has no {CONFIG_FILE}.")
    stored = read_json(path)
    if not isinstance(stored, dict):
        raise UserError(f"{path} does not hold the configuration of a run.")
    stored.pop("provenance", None)
    method = get_method(str(stored.get("method", RunConfig.method)))
    agent = _from_json(method.agent, stored.pop("agent", {}), f"{path}: 'agent'")
    return dataclasses.replace(_from_json(RunConfig, stored, str(path)), agent=agent)


def _from_json(kind: Any, value: Any, where: str) -> Any:
    """Rebuild dataclasses and tuples from plain data, by their annotations."""
    if dataclasses.is_dataclass(kind):
        hints = typing.get_type_hints(kind)
        unknown = sorted(set(value) - set(hints))
        if unknown:
            raise UserError(
                f"{where} has settings that this version does not know: {', '.join(unknown)}."
            )
        values = {k: _from_json(hints[k], v, f"{where}: '{k}'") for k, v in value.items()}
        return typing.cast(Any, kind)(**values)
    if typing.get_origin(kind) in (types.UnionType, typing.Union) and value is not None:
        first, *others = typing.get_args(kind)
        words = [word for other in others for word in typing.get_args(other)]  # of a Literal
        return value if value in words else _from_json(first, value, where)
    numbers = int | float if kind is float else kind
    if kind in (bool, int, float, str) and not isinstance(value, numbers):
        raise UserError(f"{where} is {value!r}; expected {kind.__name__}.")
    return tuple(value) if isinstance(value, list) else value
