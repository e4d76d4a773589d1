"""Plans as YAML files."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import cast, get_args

from nppac.sweeps.overrides import Overrides
from nppac.sweeps.plan import Plan
from nppac.sweeps.seeds import parse_seeds
from nppac.training.tracking import Tracker
from nppac.training.trust import require_trusted_words
from nppac.utils.errors import UserError, unknown_name
from nppac.utils.yaml_reader import read_yaml

KEYS = (
    *("out", "preset", "config", "methods", "tasks", "references"),
    *("seeds", "settings", "variants", "threads_per_run", "track"),
)


@dataclass(frozen=True)
class PlanFile:
    """A plan and where its results go."""

    plan: Plan
    out: str
    threads_per_run: int | None = None
    track: Tracker | None = None


def read_plan_file(path: str | Path, *, trust: bool = False) -> PlanFile:
    """The plan of a YAML file; a mistake is told with the key that holds it.

    A plan that names code, as `module:name`, is refused without `trust`.
    """
    values, where = read_mapping(path, KEYS, trust), str(path)
    plan = Plan(
        methods=axis(values, "methods", where),
        tasks=axis(values, "tasks", where),
        seeds=parse_seeds(values.get("seeds", "0..2"), f"{where}: 'seeds'"),
        references=tuple(_names(values, where)),
        variants=axis(values, "variants", where) if "variants" in values else {"": {}},
        settings=overrides(values.get("settings"), f"{where}: 'settings'"),
        preset=word(values, "preset", where) or "default",
        config=word(values, "config", where),
        where=where,
        folder=Path(path).parent,
    )
    out = word(values, "out", where) or str(Path("runs") / Path(path).stem)
    threads, track = count(values, "threads_per_run", where), word(values, "track", where)
    if track is not None:
        one_of(track, get_args(Tracker), "tracker", f"{where}: 'track'")
    return PlanFile(plan, out, threads, cast(Tracker | None, track))


def read_mapping(path: str | Path, keys: tuple[str, ...], trust: bool) -> dict[str, object]:
    """A YAML file that holds these keys and no others, and without `trust` no name of code."""
    values = read_yaml(path)
    if not isinstance(values, dict):
        raise UserError(f"{path} holds no plan: expected keys such as 'methods:' and 'tasks:'.")
    for key in values:
        if key not in keys:
            raise UserError(f"{path}: {unknown_name('key', str(key)[:80], keys)}")
    if not trust:
        require_trusted_words(values, str(path))
    return values


def one_of(given: str, known: Collection[str], kind: str, where: str) -> None:
    """Refuse a word that is not known, and suggest the nearest."""
    if given not in known:
        raise UserError(f"{where}: {unknown_name(kind, given, known)}")


def axis(values: Mapping[str, object], key: str, where: str) -> dict[str, Overrides]:
    """Names with what they override: a list of names, or a mapping of them."""
    given = values.get(key)
    if isinstance(given, str):
        given = [given]
    if isinstance(given, list) and all(isinstance(name, str) for name in given):
        if len(set(given)) < len(given):
            raise UserError(f"{where}: '{key}' names one thing twice.")
        given = dict.fromkeys(given)
    if not isinstance(given, dict) or not given:
        raise UserError(
            f"{where}: '{key}' is {'missing' if given is None else repr(given)[:80]}; it must be a "
            "list of names, or names with the settings that they override."
        )
    return {str(n): overrides(v, f"{where}: '{key}', '{n}'") for n, v in given.items()}


def overrides(given: object, where: str) -> Overrides:
    """Settings by name; nothing means none."""
    if given is None:
        return {}
    if not isinstance(given, dict):
        raise UserError(f"{where} is {given!r:.80}; it must hold settings, such as 'steps: 15000'.")
    return {str(name): value for name, value in given.items()}


def word(values: Mapping[str, object], key: str, where: str) -> str | None:
    """A text, or None where the key is not there."""
    value = values.get(key)
    if value is not None and not isinstance(value, str):
        raise UserError(f"{where}: '{key}' is {value!r:.80}; it must be a text.")
    return value


def count(values: Mapping[str, object], key: str, where: str) -> int | None:
    """A whole number above 0, or None where the key is not there."""
    value = values.get(key)
    if value is not None and (type(value) is not int or value < 1):
        raise UserError(f"{where}: '{key}' is {value!r:.80}; it must be a whole number above 0.")
    return value if type(value) is int else None


def _names(values: Mapping[str, object], where: str) -> list[str]:
    given = values.get("references", [])
    given = [given] if isinstance(given, str) else given
    if not isinstance(given, list) or not all(isinstance(name, str) for name in given):
        raise UserError(f"{where}: 'references' is {given!r:.80}; it must be a list of names.")
    return given
