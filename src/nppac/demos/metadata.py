"""What a file says of its own origin: text that is shown, compared and never acted on."""

import re
from collections.abc import Mapping
from typing import Literal

from nppac.utils.errors import UserError
from nppac.utils.text import shown

ENV_ID = "env_id"
ACTIONS = "actions"
"""Where the metadata keeps the units of the actions, if they are known."""
NORMALISED = "normalised"
ActionUnits = Literal["auto", "normalised", "environment"]
"""Units of actions: [-1, 1], the environment's own, or what the file says of them."""
_ENV_ID = re.compile(r"(?:[\w.]+:)?[\w./-]+")
_LONGEST_NAME = 200


def checked_env_id(where: str, value: object) -> str:
    """A Gymnasium id; refuses any other text."""
    if isinstance(value, str) and len(value) <= _LONGEST_NAME and _ENV_ID.fullmatch(value):
        return value
    raise UserError(f"{where}: 'env_id' is {shown(value)}; expected an id such as 'Ant-v5'.")


def checked_object(where: str, key: str, value: object) -> dict[str, object]:
    """A JSON object whose names and texts can be shown on a terminal."""
    if not isinstance(value, dict):
        raise UserError(f"{where}: '{key}' must be a JSON object, not {shown(value)}.")
    _check_texts(where, key, value)
    return value


def _check_texts(where: str, key: str, value: object) -> None:
    if isinstance(value, str) and not value.replace("\n", " ").replace("\t", " ").isprintable():
        raise UserError(f"{where}: '{key}' holds text that cannot be shown: {shown(value)}.")
    if isinstance(value, Mapping):
        for name, part in value.items():
            if not (name.isprintable() and "[" not in name and len(name) <= _LONGEST_NAME):
                raise UserError(f"{where}: '{key}' holds the name {shown(name)}; use plain words.")
            _check_texts(where, key, part)
    if isinstance(value, list):
        for part in value:
            _check_texts(where, key, part)


def is_normalised(metadata: Mapping[str, object]) -> bool:
    """Whether the actions are known to be in [-1, 1], but for what a policy asked beyond it."""
    return metadata.get(ACTIONS) == NORMALISED
