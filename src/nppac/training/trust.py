"""Code that only a run's file names: it is imported if the run was made here, or on request.

A run's directory may come from anywhere. Its task, reference or method may be a user's own, named
as `module:name`, and to import a module is to run it.
"""

import shlex
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from nppac.training.directory import CONFIG_FILE
from nppac.utils.errors import UserError
from nppac.utils.files import read_json
from nppac.utils.user_key import is_token_for, key_file, token_for

TOKEN = "made_here"
"""Under which name the provenance keeps the mark of a run that was made here."""
FIELDS = ("task", "method", "reference")
"""The settings that may name a module."""

_REFERENCES = ("reference", "references")
"""The keys whose values may begin with `mixed:`, which names no module there, and only there."""
_PLACES = ("out", "demos", "config")
"""The keys of a plan whose values are files or addresses, such as s3://bucket; none is imported."""


def named_code(config: Mapping[str, object]) -> dict[str, str]:
    """The settings of a configuration, as plain data, that name code to import."""
    values = {field: str(config.get(field, "")) for field in FIELDS}
    return {field: value for field, value in values.items() if _names_code(field, value)}


def _names_code(key: str, word: str) -> bool:
    """Whether a word under that key is imported: whatever stands before a colon is a module.

    Python imports modules of any name, `1x` and `a-b` among them.
    """
    return ":" in word and not (key in _REFERENCES and word.startswith("mixed:"))


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


def with_mark(config: Mapping[str, object]) -> dict[str, object]:
    """The configuration with the mark of being made here, where it names code."""
    token = made_here_token(config)
    return dict(config) if token is None else {**config, "provenance": {TOKEN: token}}


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


def require_named(
    stored: Mapping[str, object], given: Mapping[str, str | None], where: str
) -> None:
    """Refuse a file of settings that names code, unless it was made here or the user names it too.

    `given` is what the command line says, by setting.
    """
    code, origin = named_code(stored), stored.get("provenance")
    token = origin.get(TOKEN) if isinstance(origin, dict) else None
    named = {field: v for field, v in code.items() if not _replaced(field, v, given.get(field))}
    if named and not is_token_for(code.values(), token):
        flags = " ".join(f"--{field} {shlex.quote(value[:100])}" for field, value in named.items())
        raise UserError(
            f"{where} names code that would be imported: {_listed(named)}. Nothing was imported. "
            f"If you trust that code, name it yourself: {flags}."
        )


def _replaced(field: str, value: str, given: str | None) -> bool:
    """Whether the user names it, or another task or method, before the file's is looked at."""
    return given == value or (given is not None and field != "reference")


def require_trusted_words(words: object, where: str) -> None:
    """Refuse plain data that name code anywhere, as `module:name`."""
    named = ((key, word) for key, word in _words(words) if key not in _PLACES)
    found = next((word for key, word in named if _names_code(key, word)), None)
    if found is not None:
        raise UserError(
            f"{where} names code that would be imported: {found[:100]!r}. Nothing was imported. If "
            "you trust that code, add --trust."
        )


def _words(value: object, key: str = "") -> Iterator[tuple[str, str]]:
    """Every text with the key that it is under; keys are texts too."""
    if isinstance(value, str):
        yield key, value
    elif isinstance(value, Mapping):
        for name, item in value.items():
            yield from _words(name)
            yield from _words(item, str(name))
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _words(item, key)


def _listed(named: dict[str, str]) -> str:
    return ", ".join(f"the {field} {value[:100]!r}" for field, value in named.items())
