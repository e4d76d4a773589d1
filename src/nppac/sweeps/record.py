"""The expanded plan on the disk: what the driver decides, workers do and `status` shows."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from nppac.references import given_reference
from nppac.sweeps.layout import SweepLayout
from nppac.sweeps.plan import PlannedRun
from nppac.training.config import NOTES, RunConfig, config_from, plain_config, to_json
from nppac.training.directory import CONFIG_FILE
from nppac.training.tracking import Tracker
from nppac.utils.errors import UserError, nearest_path
from nppac.utils.files import read_json_object, write_json
from nppac.utils.provenance import provenance
from nppac.utils.settings import read_settings

VERSION = 1


@dataclass(frozen=True)
class RunRecord:
    """A run of the plan as plain data; nothing that it names is imported."""

    name: str
    config: dict[str, object]
    fit: str | None
    """Key of the reference that it shares; None where nothing is fitted."""


@dataclass(frozen=True)
class Manner:
    """What workers are told beside the settings; it changes no run."""

    track: Tracker | None = None
    """What else logs the metrics of runs."""
    refit: bool = False
    """Whether references are fitted although the same were fitted before."""


def write_record(
    root: Path, runs: Sequence[PlannedRun], manner: Manner | None = None
) -> tuple[RunRecord, ...]:
    """Write the expanded plan, once no run's directory contradicts it."""
    records = tuple(_record(run) for run in runs)
    for record in records:
        check_same_settings(root / record.name, record.config)
    listed = [vars(record) for record in records]
    own = {"provenance": provenance(), "manner": vars(manner or Manner())}
    facts = {"version": VERSION, **own, "runs": listed}
    write_json(SweepLayout(root).plan, facts)
    return records


def read_record(root: Path) -> tuple[RunRecord, ...]:
    """The runs of a sweep's directory."""
    path = SweepLayout(root).plan
    if not path.is_file():
        near = "" if root.exists() else nearest_path(root)
        raise UserError(
            f"{root} is not the directory of a sweep: it has no {path.relative_to(root)}.{near}"
        )
    stored = read_json_object(path)
    runs = stored.get("runs")
    if not isinstance(runs, list) or stored.get("version") != VERSION:
        raise UserError(f"{path} holds no plan of this version of nppac.")
    return tuple(_checked(run, path) for run in runs)


def read_manner(root: Path) -> Manner:
    """How the workers of a sweep do its runs."""
    path = SweepLayout(root).plan
    return read_settings(Manner, read_json_object(path).get("manner", {}), f"{path}: 'manner'")


def recorded_command(root: Path) -> str:
    """The command that made the plan, for the records of its runs."""
    origin = read_json_object(SweepLayout(root).plan).get("provenance")
    command = origin.get("command") if isinstance(origin, dict) else None
    return command if isinstance(command, str) else "nppac sweep"


def _checked(run: object, path: Path) -> RunRecord:
    values = run if isinstance(run, dict) else {}
    name, config, fit = (values.get(key) for key in ("name", "config", "fit"))
    if not isinstance(name, str) or not isinstance(config, dict) or Path(name).name != name:
        raise UserError(f"{path} holds a run that is not one: {str(run)[:80]!r}.")
    if fit is not None and not (isinstance(fit, str) and fit.isalnum()):
        raise UserError(f"{path}: the run '{name}' has a 'fit' that is none: {str(fit)[:80]!r}.")
    return RunRecord(name, config, fit)


def _record(run: PlannedRun) -> RunRecord:
    return RunRecord(run.name, to_json(run.config), shared_fit(run.config))


def config_of(record: RunRecord) -> RunConfig:
    """The configuration of a planned run; modules that it names are imported."""
    return config_from(record.config, f"The planned run '{record.name}'")


def shared_fit(config: RunConfig) -> str | None:
    """A short name of all that decides a fit; None where the reference is not fitted."""
    if config.reference == "uniform" or given_reference(config.reference) is not None:
        return None
    values = to_json(config)
    names = ("task", "demos", "demo_episodes", "demo_actions", "reference", "custom")
    parts = ("gp",) if config.reference == "gp" else ("gp", "network")
    seeded = {part: getattr(config, part).seed or config.seed for part in parts}
    decisive = {name: values[name] for name in (*names, *parts)} | {"seeds": seeded}
    return hashlib.sha256(json.dumps(decisive, sort_keys=True).encode()).hexdigest()[:16]


def check_same_settings(directory: Path, planned: dict[str, object]) -> None:
    """Refuse a directory whose run was begun with other settings than the plan's."""
    if not (directory / CONFIG_FILE).exists():
        return
    begun = plain_config(directory)
    wanted, found = (
        _flat({k: v for k, v in c.items() if k not in NOTES}) for c in (planned, begun)
    )
    for name in sorted(wanted.keys() | found.keys()):
        if wanted.get(name) != found.get(name):
            raise UserError(
                f"{directory} was begun with '{name}' {found.get(name)!r:.60}, and the plan says "
                f"{wanted.get(name)!r:.60}. Choose another --out, or delete that directory."
            )


def _flat(values: dict[str, object], prefix: str = "") -> dict[str, object]:
    flat: dict[str, object] = {}
    for name, value in values.items():
        if not prefix and name in NOTES:
            continue
        if isinstance(value, dict):
            flat |= _flat(value, f"{prefix}{name}.")
        else:
            flat[prefix + name] = list(value) if isinstance(value, tuple) else value
    return flat
