"""The same small search for any method; its choice becomes a file of settings."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, NamedTuple, cast, get_args

import numpy as np

from nppac.evaluation.metrics import METRICS_FILE, load_metrics
from nppac.sweeps.overrides import Overrides
from nppac.sweeps.plan import TUNED, Plan, PlannedRun, expand, plain_word
from nppac.sweeps.plan_file import axis, count, one_of, overrides, read_mapping, word
from nppac.sweeps.search import Space, check_space, grid_trials, random_trials
from nppac.sweeps.seeds import parse_seeds, refuse_overlap
from nppac.training.config import to_json
from nppac.training.trust import TOKEN, made_here_token
from nppac.utils.errors import UserError
from nppac.utils.files import write_json
from nppac.utils.provenance import provenance

KEYS = (
    *("out", "preset", "methods", "tasks", "settings", "search", "trials"),
    *("tuning_seeds", "evaluation_seeds", "score", "random_seed"),
)
ScoreName = Literal["final", "area"]
LAST = 3
"""Evaluations whose mean is the score `final`."""


@dataclass(frozen=True)
class TuningPlan:
    """What is tried for each method, on each task, with the seeds that choose."""

    plan: Plan
    """Tasks, settings and seeds of every trial; its methods have no overrides."""
    trials: Mapping[str, tuple[Overrides, ...]]
    """For each method; every method has the same number."""
    evaluation_seeds: tuple[int, ...]
    score: ScoreName
    out: str


class Chosen(NamedTuple):
    """The best trial of a method on a task."""

    task: str
    method: str
    trial: int
    scores: tuple[float, ...]
    """Of every trial, the mean over the seeds."""
    path: Path


def read_tuning_file(path: str | Path, *, trust: bool = False) -> TuningPlan:
    """The search that a YAML file describes; one that names code is refused without `trust`."""
    values, where = read_mapping(path, KEYS, trust), str(path)
    spaces = axis(values, "methods", where)
    tuned, judged = (
        parse_seeds(values.get(key), f"{where}: '{key}'")
        for key in ("tuning_seeds", "evaluation_seeds")
    )
    refuse_overlap(tuned, judged, where)
    plan = Plan(
        methods={name: {} for name in spaces},
        tasks=axis(values, "tasks", where),
        seeds=tuned,
        settings=overrides(values.get("settings"), f"{where}: 'settings'"),
        preset=word(values, "preset", where) or "default",
        where=where,
        folder=Path(path).parent,
    )
    score = word(values, "score", where) or "final"
    one_of(score, get_args(ScoreName), "score", f"{where}: 'score'")
    out = word(values, "out", where) or str(Path("runs") / Path(path).stem)
    return TuningPlan(plan, _trials(values, spaces, where), judged, cast(ScoreName, score), out)


def _trials(
    values: Mapping[str, object], spaces: Mapping[str, Space], where: str
) -> dict[str, tuple[Overrides, ...]]:
    kind, most = word(values, "search", where) or "grid", count(values, "trials", where)
    one_of(kind, ("grid", "random"), "search", f"{where}: 'search'")
    if (kind == "random") != (most is not None):
        raise UserError(f"{where}: 'trials' is the number of draws of 'search: random', and of it.")
    seed = count(values, "random_seed", where) or 1
    found: dict[str, tuple[Overrides, ...]] = {}
    for method, space in spaces.items():
        here = f"{where}: 'methods', '{method}'"
        check_space(space, here)
        drawn = most is not None
        found[method] = (
            random_trials(space, most, seed, here) if drawn else grid_trials(space, here)
        )
    sizes = {method: len(trials) for method, trials in found.items()}
    if len(set(sizes.values())) > 1:
        listed = ", ".join(f"{method} {size}" for method, size in sizes.items())
        raise UserError(f"{where}: every method must have as many trials; these have: {listed}.")
    return found


def tuning_runs(tuning: TuningPlan, root: Path) -> tuple[PlannedRun, ...]:
    """Every trial with every tuning seed."""
    runs: list[PlannedRun] = []
    for method, trials in tuning.trials.items():
        variants = {f"trial{i}": trial for i, trial in enumerate(trials)}
        runs += expand(replace(tuning.plan, methods={method: {}}, variants=variants), root)
    return tuple(runs)


def choose(tuning: TuningPlan, runs: Sequence[PlannedRun], folder: Path) -> list[Chosen]:
    """The best trial of each method and task, written to `folder` as a file of settings."""
    seeds = len(tuning.plan.seeds)
    groups = [runs[i : i + seeds] for i in range(0, len(runs), seeds)]
    found = []
    for method, trials in tuning.trials.items():
        for task in tuning.plan.tasks:
            own = [g for g in groups if (g[0].config.method, g[0].config.task) == (method, task)]
            scores = tuple(_mean_score(group, tuning.score) for group in own)
            best = int(np.argmax(scores))
            path = folder / f"{plain_word(task)}-{plain_word(method)}.json"
            chosen = Chosen(task, method, best, scores, path)
            _write(tuning, chosen, own[best][0], trials)
            found.append(chosen)
    return found


def _mean_score(group: Sequence[PlannedRun], score: ScoreName) -> float:
    return float(np.mean([run_score(run.directory, score) for run in group]))


def run_score(directory: Path, score: ScoreName) -> float:
    """Success, or else return: of the last three evaluations, or of all after the first step."""
    metrics = load_metrics(directory / METRICS_FILE)
    measured = metrics["eval_success_any"]
    values = metrics["eval_return_mean"] if np.isnan(measured).all() else measured
    known = values[~np.isnan(values) & (metrics["env_steps"] > 0)]
    if not len(known):
        raise UserError(f"{directory} holds no evaluation after its first step.")
    return float(np.mean(known[-LAST:] if score == "final" else known))


def _write(
    tuning: TuningPlan, chosen: Chosen, run: PlannedRun, trials: Sequence[Overrides]
) -> None:
    settings = to_json(run.config)
    kept = {name: settings[name] for name in ("version", "task", "method", "reference")}
    parts = {name: settings[name] for name in ("agent", "schedule", "gp", "network")}
    record = {
        "seeds": list(tuning.plan.seeds),
        "evaluation_seeds": list(tuning.evaluation_seeds),
        "score": tuning.score,
        "chosen": chosen.trial,
        "trials": [
            {"settings": dict(trial), "score": score}
            for trial, score in zip(trials, chosen.scores, strict=True)
        ],
    }
    token = made_here_token(settings)  # so that `train` may import what the user's own plan named
    origin = {**provenance(), TUNED: record, **({} if token is None else {TOKEN: token})}
    write_json(chosen.path, {**kept, **parts, "provenance": origin})
