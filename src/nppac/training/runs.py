"""Runs as directories: create one from a configuration, and resume it."""

import dataclasses
import shlex
from pathlib import Path

from nppac.demos import Demos, is_embedded, save_demos
from nppac.demos.for_task import load_task_demos, task_demos
from nppac.evaluation.metrics import METRICS_FILE, load_metrics
from nppac.references import CustomReference, Reference
from nppac.tasks import TaskSpec, get_task
from nppac.training.config import RunConfig, read_config, to_json
from nppac.training.directory import CONFIG_FILE, DEMOS_FILE, REFERENCE_FILE, SUMMARY_FILE
from nppac.training.judgement import judge_run
from nppac.training.loop import Callback, train_to_end
from nppac.training.lost import with_lost_scale
from nppac.training.origin import check_origin, run_origin
from nppac.training.problem import Problem, make_problem, obtain_reference
from nppac.training.restore import saved_reference
from nppac.training.signals import stopping_at_once
from nppac.training.summary import run_summary
from nppac.training.width import check_width, watching
from nppac.utils.errors import UserError
from nppac.utils.files import is_leftover, read_json_object, remove_leftovers, write_json
from nppac.utils.imports import FailedEnvironment
from nppac.utils.locks import LOCK_FILE, check_writable, directory_lock


def start_run(
    config: RunConfig,
    directory: str | Path,
    *,
    demos: Demos | None = None,
    reference: Reference | None = None,
    callback: Callback | None = None,
    refit: bool = False,
) -> dict[str, object]:
    """Fit or load the reference, create the directory, train; the run's summary.

    A mistake in what was given is found before anything is written. `demos` and `reference` that
    are at hand are taken in place of those that the configuration names, and saved with the run.
    `callback` is called with each row of the metrics. `refit` fits again what was fitted before.
    """
    with stopping_at_once():
        return _start(config, Path(directory), demos, reference, callback, refit)


def _start(
    config: RunConfig,
    directory: Path,
    demos: Demos | None,
    reference: Reference | None,
    callback: Callback | None,
    refit: bool,
) -> dict[str, object]:
    _require_new(directory)
    check_writable(directory)
    source = config.demos if demos is None else str((directory / DEMOS_FILE).resolve())
    config = dataclasses.replace(config, demos=_found_from_anywhere(source))
    spec = get_task(config.task)
    checked = _checked_demos(config, spec, demos)
    made = reference or obtain_reference(config, spec, checked, refit=refit)
    problem = make_problem(config, spec, checked, made)
    check_width(problem, f"The reference '{config.reference}'")
    with directory_lock(directory):
        _require_new(directory)  # another run may have begun there while the reference was fitted
        remove_leftovers(directory)
        origin = run_origin(config, checked, directory)
        if demos is not None and checked is not None:
            save_demos(directory / DEMOS_FILE, checked)
        write_json(directory / CONFIG_FILE, {**to_json(config), "provenance": origin})
        made.save(directory / REFERENCE_FILE)
        if not isinstance(reference, CustomReference):  # a function may have no name to load it by
            # The saved one from now on, because a resumed run will query that one.
            problem = dataclasses.replace(problem, reference=saved_reference(config, directory))
        return _train(config, problem, directory, callback)


def _checked_demos(config: RunConfig, spec: TaskSpec, given: Demos | None) -> Demos | None:
    """The demonstrations as the task wants them: those at hand, or those that are named."""
    if given is None:
        return load_task_demos(spec, config.demos, config.demo_episodes, config.demo_actions)
    how = config.demo_episodes, config.demo_actions
    return task_demos(spec, given, given.source or "The demonstrations", *how)


def _is_debris(path: Path) -> bool:
    """Whether a file is what a killed process left, and no part of a run."""
    return path.name == LOCK_FILE or is_leftover(path)


def _require_new(directory: Path) -> None:
    try:
        file = directory.exists() and not directory.is_dir()
        used = directory.is_dir() and not all(map(_is_debris, directory.iterdir()))
    except OSError as error:
        raise UserError(f"Cannot use the directory {directory}: {error.strerror}.") from error
    if file:
        raise UserError(f"{directory} is a file; a run needs a directory. Choose another --out.")
    if used:
        raise UserError(
            f"{directory} exists and is not empty. Choose another --out, or continue that run with "
            f"`nppac resume {directory}`."
        )


def _found_from_anywhere(source: str | None) -> str | None:
    """A file by its full path, so that a run can be resumed from another directory."""
    is_path = source and not is_embedded(source) and Path(source).exists()
    return str(Path(source).resolve()) if source and is_path else source


def resume_run(
    directory: str | Path,
    steps: int | None = None,
    *,
    trust: bool = False,
    callback: Callback | None = None,
) -> dict[str, object]:
    """Continue a run from its checkpoint, to its end or to a new number of steps.

    Code that the run names is imported only if the run was made here, or with `trust`.
    """
    directory = Path(directory)
    config = read_config(directory, trust=trust)
    with stopping_at_once(), directory_lock(directory):
        if steps is not None:
            config = _extended(config, directory, steps)
        remove_leftovers(directory)
        spec = get_task(config.task)
        demos = _checked_demos(config, spec, None)
        check_origin(directory, config, demos)
        if not (directory / REFERENCE_FILE).exists():  # killed before it was written
            obtain_reference(config, spec, demos).save(directory / REFERENCE_FILE)
        problem = make_problem(config, spec, demos, saved_reference(config, directory))
        return _train(config, problem, directory, callback)


def _extended(config: RunConfig, directory: Path, steps: int) -> RunConfig:
    """The configuration with another end, which is also written to the directory."""
    config = dataclasses.replace(config, schedule=dataclasses.replace(config.schedule, steps=steps))
    metrics = directory / METRICS_FILE
    done = int(max(load_metrics(metrics)["env_steps"], default=0)) if metrics.exists() else 0
    if steps < done:
        raise UserError(
            f"{directory} has done {done} steps already, more than --steps {steps}. Give more to "
            "extend it."
        )
    stored = read_json_object(directory / CONFIG_FILE)
    write_json(directory / CONFIG_FILE, {**stored, **to_json(config)})
    return config


def _train(
    config: RunConfig, problem: Problem, directory: Path, callback: Callback | None
) -> dict[str, object]:
    setting = with_lost_scale(config.agent, problem.reference), config.schedule, config.seed
    try:
        run = train_to_end(problem, *setting, directory, watching(callback))
    except FailedEnvironment as error:
        remedy = f"Mend it, then continue with: nppac resume {shlex.quote(str(directory))}"
        raise FailedEnvironment(f"{error}\n{remedy}") from error.__cause__
    fresh = judge_run(problem, *setting, run)
    summary = run_summary(config, directory, run, fresh)
    write_json(directory / SUMMARY_FILE, summary)
    return summary
