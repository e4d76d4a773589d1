"""A plan: methods × tasks × references × variants × seeds, and the runs that it stands for."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import product
from pathlib import Path

from nppac.demos import is_embedded
from nppac.sweeps.overrides import Overrides, overridden
from nppac.sweeps.seeds import refuse_overlap
from nppac.training.config import RunConfig, config_from, read_values, to_json
from nppac.training.presets import overlaid, preset
from nppac.training.trust import FIELDS as NAMING_FIELDS
from nppac.training.trust import require_named
from nppac.utils.errors import UserError

MOST_RUNS = 10_000
TUNED = "tuning"
"""Under which name the provenance of a file of settings keeps how they were chosen."""


@dataclass(frozen=True)
class PlannedRun:
    """One run of a sweep."""

    name: str
    config: RunConfig
    directory: Path


@dataclass(frozen=True)
class Plan:
    """What a sweep runs; each axis holds names, and what they override."""

    methods: Mapping[str, Overrides]
    tasks: Mapping[str, Overrides]
    seeds: tuple[int, ...]
    references: tuple[str, ...] = ()
    """Reference policies; where there are none, each method has its own."""
    variants: Mapping[str, Overrides] = field(default_factory=lambda: {"": {}})
    settings: Overrides = field(default_factory=dict)
    preset: str = "default"
    config: str | None = None
    """A file of settings, in whose name {task} and {method} stand for themselves."""
    where: str = "The plan"
    """Names the plan in errors."""
    folder: Path = Path()
    """Where files that the plan names are looked for."""


def expand(plan: Plan, root: Path) -> tuple[PlannedRun, ...]:
    """Every run of the plan, in directories of `root`."""
    references = plan.references or (None,)
    axes = (plan.tasks, plan.methods, references, plan.variants, plan.seeds)
    count = len(axes[0]) * len(axes[1]) * len(axes[2]) * len(axes[3]) * len(axes[4])
    if count > MOST_RUNS:
        raise UserError(f"{plan.where} stands for {count:,} runs; at most {MOST_RUNS:,} are taken.")
    runs = tuple(_runs(plan, root))
    names = [run.name for run in runs]
    twice = sorted({name for name in names if names.count(name) > 1}) if len(names) < 2000 else []
    if twice or len(set(names)) < len(names):
        raise UserError(f"{plan.where}: two runs would be called '{(twice or names)[0]}'.")
    return runs


def _runs(plan: Plan, root: Path) -> Iterator[PlannedRun]:
    kinds = product(plan.tasks, plan.methods, plan.references or (None,), plan.variants)
    for task, method, reference, variant in kinds:
        config = _config(plan, task, method, reference, variant)
        words = [task, method, reference, variant]
        stem = "-".join(plain_word(word) for word in words if word)
        for seed in plan.seeds:
            name = f"{stem}-seed{seed}"
            yield PlannedRun(name, replace(config, seed=seed), root / name)


def _config(plan: Plan, task: str, method: str, reference: str | None, variant: str) -> RunConfig:
    """The settings of one kind of run; the more specific override wins."""
    try:
        config = preset(task, method, plan.preset)
    except UserError as error:
        raise UserError(f"{plan.where}: {error}") from error
    config = _from_file(plan, config)
    layers: list[tuple[str, Overrides]] = [
        ("'settings'", plan.settings),
        (f"'tasks', '{task}'", plan.tasks[task]),
        (f"'methods', '{method}'", plan.methods[method]),
        ("'references'", {} if reference is None else {"reference": reference}),
        (f"'variants', '{variant}'", plan.variants[variant]),
    ]
    for key, given in layers:
        config = overridden(config, given, f"{plan.where}: {key} (method '{method}')")
    return replace(
        config,
        demos=_found(config.demos, plan.folder, is_embedded),
        reference=_found(config.reference, plan.folder, lambda _: False) or config.reference,
    )


def _from_file(plan: Plan, config: RunConfig) -> RunConfig:
    if plan.config is None:
        return config
    named = plan.config.replace("{task}", plain_word(config.task))
    path = plan.folder / named.replace("{method}", plain_word(config.method))
    values = read_values(path)
    for name in ("task", "method"):
        if values.get(name, getattr(config, name)) != getattr(config, name):
            raise UserError(
                f"{plan.where}: 'config' {path} is of the {name} {values[name]!r:.50}, not of "
                f"'{getattr(config, name)}'. {{{name}}} in its name stands for each of them."
            )
    require_named(values, {n: getattr(config, n) for n in NAMING_FIELDS}, str(path))
    refuse_overlap(tuning_seeds(values), plan.seeds, f"{plan.where}: 'config' {path}")
    return config_from(overlaid(to_json(config), values), str(path))


def tuning_seeds(values: Mapping[str, object]) -> tuple[int, ...]:
    """The seeds by which the settings of a file were chosen; none where nothing says so."""
    origin = values.get("provenance")
    record = origin.get(TUNED) if isinstance(origin, dict) else None
    seeds = record.get("seeds") if isinstance(record, dict) else None
    return tuple(s for s in seeds if isinstance(s, int)) if isinstance(seeds, list) else ()


def _found(source: str | None, folder: Path, known) -> str | None:
    """A file by its full path, seen from the plan first; any other word as it is."""
    if source is None or known(source):
        return source
    for path in (folder / source, Path(source)):
        if path.exists():
            return str(path.resolve())
    return source


def plain_word(word: str) -> str:
    """A word as part of a file's name; of a path its stem."""
    word = Path(word).stem if Path(word).suffix == ".npz" else word
    return re.sub(r"[^\w.-]+", "-", word)
