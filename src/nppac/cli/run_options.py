"""The flags of commands that take the settings of a run: RunConfig's own fields."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import cast

from nppac.cli.parsing import Layout, parse_known
from nppac.training.config import RunConfig, config_from, custom_class, read_values, to_json
from nppac.training.presets import Preset, default_method, overlaid, preset
from nppac.training.trust import require_named
from nppac.utils.errors import UserError


@dataclass(frozen=True)
class Choice:
    """What decides the defaults of all other flags, and so is parsed before them."""

    task: str | None = None
    method: str | None = None  # by default the preset's
    preset: str = "default"  # checked by `preset`, which suggests the nearest
    reference: str | None = None  # one of the user's own may have settings of its own
    config: Path | None = None


def chosen_config(args: Sequence[str], method: str | None = None) -> RunConfig:
    """The settings that other flags override: those of a preset, or of a file.

    What a file leaves out is the preset's for its task and method. `method` is the one whose
    presets are taken where nothing else says.
    """
    choice = parse_known(Choice, args)
    name = cast(Preset, choice.preset)
    values = {} if choice.config is None else read_values(choice.config)
    _check_method(choice, values)
    given = {"task": choice.task, "method": choice.method, "reference": choice.reference}
    require_named(values, given, str(choice.config))
    task = choice.task or _word(values, "task", "door")
    method = choice.method or _word(values, "method", method or default_method(name))
    config = preset(task, method, name)
    if choice.config is not None:
        whole = {**values, "task": task, "method": method}
        config = config_from(overlaid(to_json(config), whole), str(choice.config))
    return _with_custom(config, choice.reference or config.reference)


def layout_for(
    config: RunConfig,
    brief: frozenset[str],
    flat: frozenset[str] = frozenset(),
    fixed: frozenset[str] = frozenset(),
) -> Layout:
    """The flags of a command; those of a user's own reference are there where it has settings."""
    without = fixed if config.custom is not None else fixed | {"custom"}
    return Layout(owner=RunConfig, flat=flat, fixed=without, brief=brief)


def _check_method(choice: Choice, values: Mapping[str, object]) -> None:
    given = values.get("method", choice.method)
    if choice.method is not None and given != choice.method and "agent" in values:
        raise UserError(
            f"{choice.config} holds the settings of the method {given!r:.50}, which --method "
            f"{choice.method} has not: leave one of them out, or 'agent' out of the file."
        )


def _word(values: Mapping[str, object], name: str, default: str) -> str:
    """A word of a file; what is no word is complained of when the settings are read."""
    value = values.get(name, default)
    return value if isinstance(value, str) else default


def _with_custom(config: RunConfig, reference: str) -> RunConfig:
    """The settings with those of the user's own reference that a flag names."""
    if reference == config.reference and config.custom is not None:
        return config
    kind = custom_class(reference)
    try:
        custom = None if kind is None else kind()
    except TypeError as error:
        raise UserError(f"The settings '{reference}' have no defaults: {error}.") from error
    return replace(config, reference=reference, custom=custom)
