"""Code that only a run's file names: it is imported if the run was made here, or on request.

A run's directory may come from anywhere. Its task, reference or method may be a user's own, named
as `module:name`, and to import a module is to run it.
"""

import sys
from collections.abc import Mapping
from pathlib import Path

from nppac.training.directory import CONFIG_FILE
from nppac.utils.errors import UserError
from nppac.utils.files import read_json
from nppac.utils.user_key import is_token_for, key_file, token_for

TOKEN = "made_here"
"""Under which name the provenance keeps the mark of a run that was made here."""
FIELDS = ("task", "method", "reference")
"""The settings that may name a module."""


def named_code(config: Mapping[str, object]) -> dict[str, str]:
    """The settings of a configuration, as plain data, that name code to import."""
    values = {field: str(config.get(field, "")) for field in FIELDS}
    return {f: v for f, v in values.items() if ":" in v and not v.startswith("mixed:")}


def made_here_token(config: Mapping[str, object]) -> str | None:
    """The mark of a run that is made here; None if it needs none, or if none can be made."""
    named = named_code(config)
    if not named:
        return None
    token = token_for(named.values())
    if token is None:
        print(
            f"Cannot keep a secret in {key_file() or 'a home directory, as HOME is not set'}: to "
            f"resume or use this run, add --trust, because it names {_listed(named)}.",
            file=sys.stderr,
        )
    return token


def require_trust(directory: str | Path, trust: bool) -> None:
    """Refuse a run that names code, unless it was made here or the user trusts it."""
    path = Path(directory) / CONFIG_FILE
    try:
        if trust or not path.is_file():  # what is not there is complained of by who reads it
            return
    except OSError as error:
        raise UserError(f"Cannot read {path}: {error.strerror or error}.") from error
    stored = read_json(path)
    if not isinstance(stored, dict):
        return
    named, origin = named_code(stored), stored.get("provenance")
    token = origin.get(TOKEN) if isinstance(origin, dict) else None
    if named and not is_token_for(named.values(), token):
        raise UserError(
            f"{directory} was not made by this user on this machine, and it names code that would "
            f"be imported: {_listed(named)}. Nothing was imported. If you trust that code, add "
            "--trust (in Python: trust=True)."
        )


def _listed(named: dict[str, str]) -> str:
    return ", ".join(f"the {field} {value[:100]!r}" for field, value in named.items())
