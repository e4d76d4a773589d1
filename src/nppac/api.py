"""The library in a few functions; the command line calls the same ones.

demos = nppac.load_demos("door")
reference = nppac.fit_reference(demos)
run = nppac.train("door", demos, reference, steps=15_000)
action = run.policy(observation)
"""

import dataclasses
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from nppac.demos import Demos, load_demos
from nppac.demos.metadata import ActionUnits
from nppac.deploy.acting import act_of, acting_policy
from nppac.deploy.policy import EnvironmentPolicy, load_policy
from nppac.deploy.run_result import EVALUATION_SEED, RunResult, load_run
from nppac.diagnostics import Diagnosis
from nppac.diagnostics.doctor import doctor
from nppac.evaluation.evaluate import EvaluationRecord, evaluate_policy
from nppac.references import (
    CustomReference,
    GPConfig,
    NetworkConfig,
    Reference,
    fitted_reference,
    given_reference,
    load_reference,
)
from nppac.tasks import TASKS, TaskSpec, get_task, register_task
from nppac.training import presets
from nppac.training.config import RunConfig, read_config
from nppac.training.directory import REFERENCE_FILE
from nppac.training.loop import Callback
from nppac.training.presets import Preset, default_method
from nppac.training.runs import start_run
from nppac.utils.errors import UserError, check_seed
from nppac.utils.settings import settings

__all__ = [
    "EnvironmentPolicy",
    "RunConfig",
    "RunResult",
    "TaskSpec",
    "diagnose",
    "evaluate",
    "fit_reference",
    "load_demos",
    "load_policy",
    "load_reference",
    "load_run",
    "register_task",
    "settings",
    "train",
]

Function = Callable[[np.ndarray], Any]
"""A user's own: of a reference, observations (n, o) to (loc, scale); of a policy, to actions."""
AnyPolicy = EnvironmentPolicy | Reference | Function | str | Path
AnyReference = Reference | Function | str | Path


def fit_reference(
    demos: Demos | str | Path,
    reference: Function | str | Path = "gp",
    *,
    seed: int = 0,
    gp: GPConfig | None = None,
    network: NetworkConfig | None = None,
    custom: object | None = None,
    refit: bool = False,
) -> Reference:
    """A reference policy: call it with observations (n, o) to have (loc, scale), each (n, d).

    `reference` is a name that `nppac references` lists, which is fitted to the demonstrations; or
    your own function of observations, itself or as `module:function`; or the file of a saved one.
    A fit is kept in the user's cache, and taken from there the next time unless `refit` is set.
    """
    data = demos if isinstance(demos, Demos) else load_demos(demos)
    if not isinstance(reference, str | Path):
        found = reference_of(reference)
    else:
        found = given_reference(str(reference))
    if found is None:
        found = fitted_reference(
            str(reference),
            data.obs,
            data.actions,
            seed=seed,
            gp=gp,
            network=network,
            custom=custom,
            refit=refit,
        )
    answered = found(data.obs[:16]).loc.shape[1]
    if answered != data.action_dim:
        name = reference if isinstance(reference, str) else getattr(found, "name", "given")
        raise UserError(
            f"The reference '{name}' answers with {answered} actions where the demonstrations "
            f"have {data.action_dim}."
        )
    return found


def reference_of(function: Reference | Function) -> Reference:
    """A reference as it is, or a function of observations as one."""
    if isinstance(function, Reference):
        return function
    own = getattr(function, "__qualname__", type(function).__qualname__)
    module = getattr(function, "__module__", "__main__")
    return CustomReference(function, f"{module}:{own}")


def train(
    task: str | TaskSpec | None = None,
    demos: Demos | str | Path | None = None,
    reference: AnyReference | None = None,
    *,
    method: str | None = None,
    steps: int | None = None,
    seed: int | None = None,
    out: str | Path | None = None,
    callback: Callback | None = None,
    preset: Preset = "default",
    config: RunConfig | None = None,
    refit: bool = False,
) -> RunResult:
    """Train a policy, with a progress bar, in a directory that `nppac` can resume and evaluate.

    What is left out is the preset's for the task and the method, or that of `config`. `demos` and
    `reference` are objects, or names as on the command line. `callback` is called with the metrics
    of every epoch, as a dictionary. `out` is the run's directory, by default
    runs/TASK-METHOD-seedN. `refit` fits the reference even if the same was fitted before.
    """
    name = task_name(task) if task is not None else None
    if config is None:
        config = presets.preset(name or "door", method or default_method(preset), preset)
    elif method is not None and method != config.method:
        raise UserError(f"'config' is of the method '{config.method}': leave 'method' out.")
    schedule = config.schedule
    changes: dict[str, object] = {
        "task": name,
        "demos": None if isinstance(demos, Demos) else _text(demos),
        "reference": _text(reference) if isinstance(reference, str | Path) else None,
        "seed": seed,
        "schedule": None if steps is None else dataclasses.replace(schedule, steps=steps),
    }
    config = dataclasses.replace(config, **{k: v for k, v in changes.items() if v is not None})
    directory = default_directory(config) if out is None else Path(out)
    at_hand = None if reference is None or isinstance(reference, str | Path) else reference
    data = demos if isinstance(demos, Demos) else None
    return _start(config, directory, data, at_hand, callback, refit)


def _start(
    config: RunConfig,
    directory: Path,
    demos: Demos | None,
    reference: Reference | Function | None,
    callback: Callback | None,
    refit: bool,
) -> RunResult:
    found = None if reference is None else reference_of(reference)
    if isinstance(found, CustomReference):
        config = dataclasses.replace(config, reference=found.name)
    elif found is not None:
        saved = str((directory / REFERENCE_FILE).resolve())
        config = dataclasses.replace(config, reference=saved)
    data = {"demos": demos, "reference": found}
    summary = start_run(config, directory, **data, callback=callback, refit=refit)
    return RunResult(directory, read_config(directory, trust=True), summary, found)


def evaluate(
    policy: AnyPolicy,
    task: str | TaskSpec | None = None,
    episodes: int = 100,
    seed: int = EVALUATION_SEED,
) -> EvaluationRecord:
    """Returns and successes of a deterministic policy over so many episodes, with progress.

    `policy` is a policy, a reference (its mean acts), your own function of observations to actions
    in the environment's units, or the path of a run, of a distilled policy or of a reference.
    """
    if episodes < 1:
        raise UserError(f"'episodes' is {episodes}; it must be at least 1.")
    check_seed(seed)
    name = None if task is None else task_name(task)
    if isinstance(policy, str | Path):
        act, name, _ = acting_policy(Path(policy), name)
    else:
        name = name or getattr(policy, "task", None)
        if name is None:
            raise UserError("Name the task to act in: evaluate(policy, 'door').")
        act = act_of(policy, name)
    return evaluate_policy(get_task(name), act, episodes, seed)


def diagnose(
    task: str | TaskSpec = "door",
    demos: Demos | str | Path | None = None,
    reference: AnyReference = "gp",
    *,
    episodes: int = 4,
    seed: int = 0,
    gp: GPConfig | None = None,
    network: NetworkConfig | None = None,
    custom: object | None = None,
    demo_actions: ActionUnits = "auto",
    refit: bool = False,
) -> Diagnosis:
    """Whether a reference's variance grows off the data, falls, or is too small to be of use.

    Its `verdict` is healthy, flat, collapses, exploding, narrow or broken. A name is fitted to four
    fifths of the demonstrations; a reference that is given is checked on all. `episodes` is the
    number of rollouts that show where the reference leads; 0 makes none.
    """
    for what, value in (("episodes", episodes), ("seed", seed)):
        if value < 0:
            raise UserError(f"'{what}' is {value}; it must not be negative.")
    given = str(reference) if isinstance(reference, str | Path) else reference_of(reference)
    data = demos if isinstance(demos, Demos) else _text(demos)
    fit = {"gp": gp, "network": network, "custom": custom, "demo_actions": demo_actions}
    return doctor(task_name(task), data, given, episodes=episodes, seed=seed, **fit, refit=refit)


def default_directory(config: RunConfig) -> Path:
    """Where a run goes if nobody says where."""
    words = (config.task, config.method)
    task, method = (re.sub(r"[^\w.-]+", "-", word) for word in words)  # an id may name a module
    return Path("runs") / f"{task}-{method}-seed{config.seed}"


def task_name(task: str | TaskSpec) -> str:
    """A task's name; one that is not registered could not be found again."""
    if isinstance(task, str):
        return task
    if TASKS.get(task.name) != task:
        raise UserError(
            f"The task '{task.name}' is not registered: call nppac.register_task(task) first."
        )
    return task.name


def _text(source: str | Path | None) -> str | None:
    return None if source is None else str(source)
