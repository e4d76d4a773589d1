"""Settings by the names that `nppac train` and `config.json` have for them."""

from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass

from nppac.agents.schedule import Schedule
from nppac.training.config import RunConfig, config_from, to_json
from nppac.training.presets import overlaid
from nppac.utils.errors import UserError, unknown_name

Overrides = Mapping[str, object]
"""Settings by name: `steps`, `gp.kernel`, or whole parts such as `gp: {kernel: rbf}`."""

PARTS = ("agent", "schedule", "gp", "network", "custom")
PLAIN = ("demos", "demo_episodes", "demo_actions", "reference")
AXES = {"task": "tasks", "method": "methods", "seed": "seeds"}
"""What a plan has a key of its own for."""


def overridden(config: RunConfig, given: Overrides, where: str) -> RunConfig:
    """The configuration with some settings given anew; `where` names them in errors."""
    if not given:
        return config
    values: dict[str, object] = {}
    for name, value in given.items():
        for path, setting in _placed(config, str(name).replace("-", "_"), value, where):
            part = values.setdefault(path[0], {}) if len(path) == 2 else values
            if not isinstance(part, dict) or path[-1] in part:
                raise UserError(f"{where}: '{name}' is given twice.")
            part[path[-1]] = setting
    return config_from(overlaid(to_json(config), values), where)


def _placed(
    config: RunConfig, name: str, value: object, where: str
) -> Iterator[tuple[tuple[str, ...], object]]:
    """The places in the configuration that a name stands for, and their values."""
    head, _, rest = name.partition(".")
    if name in AXES:
        raise UserError(f"{where}: '{name}' is no override; name it under '{AXES[name]}'.")
    if head in PARTS and rest:
        yield (head, rest), value
    elif name in PARTS:
        if not isinstance(value, dict):
            raise UserError(f"{where}: '{name}' is {value!r:.50}; it must hold settings.")
        for inner, setting in value.items():
            yield (name, str(inner).replace("-", "_")), setting
    elif name in PLAIN:
        yield (name,), value
    elif name in _names(Schedule):
        yield ("schedule", name), value
    elif name in _names(type(config.agent)):
        yield ("agent", name), value
    else:
        raise UserError(f"{where}: {unknown_name('setting', name, _known(config))}")


def _known(config: RunConfig) -> list[str]:
    dotted = [f"{p}.{n}" for p in ("gp", "network") for n in _names(type(getattr(config, p)))]
    return [*PLAIN, *_names(Schedule), *_names(type(config.agent)), *dotted]


def _names(kind: type) -> list[str]:
    return [field.name for field in fields(kind)] if is_dataclass(kind) else []
