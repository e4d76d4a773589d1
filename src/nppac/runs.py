"""Runs as directories: create one from a configuration, and resume it."""

import dataclasses
import sys
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np

from nppac.agents.methods import get_method
from nppac.demos import Demos, is_embedded, load_demos, task_rewards, validate
from nppac.errors import UserError
from nppac.files import claimed, read_json, remove_leftovers, write_json
from nppac.provenance import provenance
from nppac.references import (
    CustomReference,
    Reference,
    UniformReference,
    checked_answer,
    fitted_reference,
    given_reference,
)
from nppac.results import (
    CONFIG_FILE,
    METRICS_FILE,
    REFERENCE_FILE,
    SUMMARY_FILE,
    load_metrics,
)
from nppac.run_config import RunConfig, read_config, to_json
from nppac.tasks import TaskSpec, action_dim, get_task, make_env, obs_dim
from nppac.trained import misfit, saved_reference
from nppac.training import Run, train
from nppac.updates import reported
from nppac.warm_start import Problem


def start_run(config: RunConfig, directory: str | Path) -> dict[str, Any]:
    """Fit or load the reference, create the directory, train; the run's summary.

    A mistake in what was given is found before anything is written.
    """
    directory = Path(directory)
    _require_new(directory)
    config = dataclasses.replace(config, demos=_found_from_anywhere(config.demos))
    spec = get_task(config.task)
    demos = load_task_demos(spec, config.demos, config.demo_episodes)
    reference = obtain_reference(config, spec, demos)
    problem = make_problem(config, spec, demos, reference)
    with claimed(directory):
        _require_new(directory)  # another run may have begun there while the reference was fitted
        write_json(directory / CONFIG_FILE, {**to_json(config), "provenance": provenance()})
        reference.save(directory / REFERENCE_FILE)
        # The saved one from now on, because a resumed run will ask that.
        problem = dataclasses.replace(problem, reference=saved_reference(config, directory))
        return _train(config, problem, directory)


def _require_new(directory: Path) -> None:
    if directory.exists() and not directory.is_dir():
        raise UserError(f"{directory} is a file; a run needs a directory. Choose another --out.")
    if directory.is_dir() and any(directory.iterdir()):
        raise UserError(
            f"{directory} exists and is not empty. Choose another --out, or continue that run with "
            f"`nppac resume {directory}`."
        )


def _found_from_anywhere(source: str | None) -> str | None:
    """A file by its full path, so that a run can be resumed from another directory."""
    is_path = source and not is_embedded(source) and Path(source).exists()
    return str(Path(source).resolve()) if source and is_path else source


def resume_run(directory: str | Path, steps: int | None = None) -> dict[str, Any]:
    """Continue a run from its checkpoint, to its end or to a new number of steps."""
    directory = Path(directory)
    config = read_config(directory)
    with claimed(directory):
        if steps is not None:
            config = _extended(config, directory, steps)
        remove_leftovers(directory)
        spec = get_task(config.task)
        demos = load_task_demos(spec, config.demos, config.demo_episodes)
        if not (directory / REFERENCE_FILE).exists():  # killed before it was written
            obtain_reference(config, spec, demos).save(directory / REFERENCE_FILE)
        problem = make_problem(config, spec, demos, saved_reference(config, directory))
        return _train(config, problem, directory)


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
    stored = read_json(directory / CONFIG_FILE)
    write_json(directory / CONFIG_FILE, {**stored, **to_json(config)})
    return config


def _train(config: RunConfig, problem: Problem, directory: Path) -> dict[str, Any]:
    run = train(problem, config.agent, config.schedule, config.seed, directory)
    summary = summarise(config, directory, run)
    write_json(directory / SUMMARY_FILE, summary)
    return summary


def load_task_demos(spec: TaskSpec, source: str | None, episodes: int | None) -> Demos | None:
    """The demonstrations, cut to the task's length and checked against its shapes."""
    if source is None:
        return None
    demos = load_demos(source)
    if episodes is not None:
        demos = demos.first(episodes)
    env = make_env(spec)
    demos, notes = validate(
        demos, obs_dim=obs_dim(env), action_dim=action_dim(env), task_name=spec.name
    )
    notes += _units_note(demos, env)
    limit = env.spec.max_episode_steps if env.spec else None
    env.close()
    for note in notes:
        print(f"{source}: {note}", file=sys.stderr)
    demos = demos if spec.demo_steps is None else demos.truncate(spec.demo_steps)
    return _time_limits_as_such(demos, limit, source)


def _units_note(demos: Demos, env: gymnasium.Env) -> list[str]:
    """A warning where actions may be in the robot's units: only some formats are sure of theirs."""
    scaled = getattr(env, "env", env)  # by `make_env`, if its bounds are others than ±1
    if "env_id" in demos.metadata or not isinstance(scaled, gymnasium.wrappers.RescaleAction):
        return []
    bounds: Any = scaled.env.action_space
    return [
        f"Actions are taken to be in [-1, 1], where the environment's own bounds are "
        f"[{bounds.low.min():g}, {bounds.high.max():g}]. Rescale them if they are in its units."
    ]


def _time_limits_as_such(demos: Demos, limit: int | None, source: str) -> Demos:
    """Episodes that last as long as the task lets them did not terminate, whatever a file says."""
    ended = [e.terminated and len(e) == limit for e in demos.episodes]
    if not any(ended):
        return demos
    print(
        f"{source}: {sum(ended)} episodes of {limit} steps are marked as terminated, which "
        "is the task's time limit: taken as cut.",
        file=sys.stderr,
    )
    kept = zip(demos.episodes, ended, strict=True)
    episodes = tuple(dataclasses.replace(e, terminated=e.terminated and not end) for e, end in kept)
    return dataclasses.replace(demos, episodes=episodes)


def obtain_reference(config: RunConfig, spec: TaskSpec, demos: Demos | None) -> Reference:
    """Fit the named reference with progress, or take the function or file that was given."""
    if config.reference == "uniform":
        return UniformReference(action_dim(make_env(spec)))
    given = given_reference(config.reference)
    if given is not None:
        return given
    if demos is None:
        raise UserError(
            f"The reference '{config.reference}' needs demonstrations: give --demos a file, a "
            "Minari id or an embedded name (`nppac demos list` shows them)."
        )
    settings = {"seed": config.seed, "gp": config.gp, "network": config.network}
    return fitted_reference(config.reference, demos.obs, demos.actions, **settings)


def make_problem(
    config: RunConfig, spec: TaskSpec, demos: Demos | None, reference: Reference
) -> Problem:
    """Environments and data in the form that training takes."""
    env = make_env(spec)
    check_demos(config, demos)
    check_on_policy(config)
    if demos is not None and reads_rewards(config):
        demos = task_rewards(demos, spec)
    _check_reference(reference, f"The reference '{config.reference}'", spec, env, demos)
    reported(config.agent, obs_dim(env), action_dim(env), reference.family)
    eval_count = min(config.schedule.eval_envs, config.schedule.eval_episodes)
    return Problem(
        env=env,
        eval_envs=tuple(make_env(spec) for _ in range(eval_count)),
        reference=reference,
        demos=() if demos is None else demos.episodes,
        obs_dim=obs_dim(env),
        action_dim=action_dim(env),
    )


def check_demos(config: RunConfig, demos: Demos | None) -> None:
    """Refuse a run without demonstrations where the method or its settings ask for them."""
    if demos is not None:
        return
    if config.schedule.pretrain_epochs:
        raise UserError("Pretraining needs demonstrations; give --demos or pretrain_epochs 0.")
    if reads_rewards(config):
        raise UserError(
            f"The method '{config.method}' needs demonstrations: give --demos a file, a Minari "
            "id or an embedded name (`nppac demos list` shows them)."
        )


def check_on_policy(config: RunConfig) -> None:
    """Refuse a replay longer than an epoch to a method whose gradient is of its newest policy."""
    epoch, capacity = config.schedule.epoch_steps, config.schedule.replay_capacity
    if getattr(config.agent, "on_policy", False) and capacity != epoch:
        raise UserError(
            f"The method '{config.method}' learns from the newest epoch alone, but its replay "
            f"holds {capacity} steps: add --replay-capacity {epoch}."
        )


def reads_rewards(config: RunConfig) -> bool:
    """Whether the method, or a setting that another one has, learns from demonstrated rewards."""
    needs, schedule = get_method(config.method).needs, config.schedule
    share = getattr(config.agent, "demo_share", 0.0)
    asked = schedule.demos_in_replay or schedule.offline_updates or share
    return needs in ("rewards", "episodes") or bool(asked)


def _check_reference(
    reference: Reference, what: str, spec: TaskSpec, env: gymnasium.Env, demos: Demos | None
) -> None:
    """Ask about a few states, to see before anything is written that the answers are densities."""
    obs = np.zeros((1, obs_dim(env)), np.float32) if demos is None else demos.obs[:16]
    try:
        answer = reference(obs)
    except (TypeError, UserError) as error:
        if isinstance(reference, CustomReference):  # names itself and what it did
            raise
        raise misfit(what, spec, env) from error
    if checked_answer(answer, len(obs), what).loc.shape[1] != action_dim(env):
        raise misfit(what, spec, env)


def summarise(config: RunConfig, directory: Path, run: Run) -> dict[str, Any]:
    """What the run came to, in a few numbers."""
    metrics = load_metrics(directory / METRICS_FILE)
    evaluated = ~np.isnan(metrics["eval_return_mean"])
    if not evaluated.any():
        raise UserError(f"{directory} holds no evaluation.")

    def ends(column: str) -> dict[str, float | None]:
        values = metrics[column][evaluated]
        if np.isnan(values).all():
            return {"first": None, "last": None, "best": None}
        return {
            "first": float(values[0]),
            "last": float(values[-1]),
            "best": float(np.max(values)),
        }

    speeds = metrics["updates_per_second"][np.isfinite(metrics["updates_per_second"])]
    return {
        "task": config.task,
        "method": config.method,
        "seed": config.seed,
        "env_steps": run.progress.env_steps,
        "updates": run.progress.updates,
        "wall_seconds": round(run.progress.wall_seconds, 1),
        "eval_return": ends("eval_return_mean"),
        "eval_success_any": ends("eval_success_any"),
        "eval_success_end": ends("eval_success_end"),
        "updates_per_second": float(np.median(speeds)) if speeds.size else None,
    }
