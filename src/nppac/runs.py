"""Runs as directories: create one from a configuration, open it again, resume it, act with it."""

import dataclasses
import json
import shlex
import subprocess
import sys
import types
import typing
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import gymnasium
import jax
import numpy as np

import nppac
from nppac.agents.base import Agent, State
from nppac.agents.kl_actor_critic import KLActorCritic
from nppac.agents.methods import get_method
from nppac.checkpoint import load_state
from nppac.demos import Demos, load_demos, task_rewards, validate
from nppac.errors import UserError, nearest_path
from nppac.evaluation import evaluate
from nppac.files import read_json, remove_leftovers, write_json
from nppac.progress import progress_bar
from nppac.references import (
    CustomReference,
    GPConfig,
    NetworkConfig,
    Reference,
    UniformReference,
    checked_answer,
    fitted_reference,
    given_reference,
    load_reference,
)
from nppac.results import (
    CHECKPOINT_FILE,
    CONFIG_FILE,
    METRICS_FILE,
    REFERENCE_FILE,
    SUMMARY_FILE,
    load_metrics,
)
from nppac.schedule import Schedule
from nppac.tasks import TaskSpec, action_dim, get_task, make_env, obs_dim
from nppac.training import Run, train
from nppac.types import ReferenceStats
from nppac.updates import Ask, greedy_policy, reported
from nppac.warm_start import Problem

Policy = Callable[[np.ndarray], np.ndarray]


@dataclass(frozen=True)
class RunConfig:
    """Everything that determines a run."""

    task: str = "door"
    """A task's name, or any Gymnasium id."""
    method: str = "nppac"
    """The method that the other settings make up, for the record."""
    demos: str | None = None
    """Demonstrations: a file, a Minari id or the name of embedded ones."""
    demo_episodes: int | None = None
    """Use only the first so many demonstrations."""
    reference: str = "gp"
    """Reference policy: a name to fit, `module:function`, or the file of a saved one."""
    seed: int = 0
    """Seed of everything random."""
    agent: Any = field(default_factory=KLActorCritic)
    """The method's agent, which is also its settings."""
    gp: GPConfig = field(default_factory=GPConfig)
    """How the GP is fitted and asked."""
    network: NetworkConfig = field(default_factory=NetworkConfig)
    """How a reference that is made of networks is fitted."""
    schedule: Schedule = field(default_factory=Schedule)
    """How long and how often."""

    def __post_init__(self) -> None:
        if self.seed < 0:
            raise UserError(f"'seed' is {self.seed}; it must not be negative.")


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
    write_json(directory / CONFIG_FILE, {**to_json(config), "provenance": provenance()})
    reference.save(directory / REFERENCE_FILE)
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
    return str(Path(source).resolve()) if source and Path(source).exists() else source


def resume_run(directory: str | Path, steps: int | None = None) -> dict[str, Any]:
    """Continue a run from its checkpoint, to its end or to a new number of steps."""
    directory = Path(directory)
    config = read_config(directory)
    if steps is not None:
        config = _extended(config, directory, steps)
    remove_leftovers(directory)
    spec = get_task(config.task)
    demos = load_task_demos(spec, config.demos, config.demo_episodes)
    if not (directory / REFERENCE_FILE).exists():  # killed before it was written
        obtain_reference(config, spec, demos).save(directory / REFERENCE_FILE)
    reference = _saved_reference(config, directory)
    if isinstance(reference, CustomReference):
        print(f"Imported {reference.name}, which {directory} names.", file=sys.stderr)
    return _train(config, make_problem(config, spec, demos, reference), directory)


def _saved_reference(config: RunConfig, directory: Path) -> Reference:
    """The run's own reference; a function is imported only if its configuration names it too.

    That trusts `config.json` as far as it is trusted anyway: a task's id may name a module.
    """
    return load_reference(directory / REFERENCE_FILE, trusted=config.reference)


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
    # Always the saved reference, so that a resumed run asks the very same one.
    problem = dataclasses.replace(problem, reference=_saved_reference(config, directory))
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
    env.close()
    for note in notes:
        print(f"{source}: {note}", file=sys.stderr)
    return demos if spec.demo_steps is None else demos.truncate(spec.demo_steps)


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
        raise _misfit(what, spec, env) from error
    if checked_answer(answer, len(obs), what).loc.shape[1] != action_dim(env):
        raise _misfit(what, spec, env)


def check_fits(act: Policy, what: str, spec: TaskSpec, env: gymnasium.Env) -> None:
    """Ask for one action, to see that a policy or a reference's mean is one of this task."""
    try:
        fits = act(np.zeros((1, obs_dim(env)), np.float32)).shape == (1, action_dim(env))
    except (TypeError, UserError):  # a network's refusal, a GP's
        fits = False
    if not fits:
        raise _misfit(what, spec, env)


def _misfit(what: str, spec: TaskSpec, env: gymnasium.Env) -> UserError:
    return UserError(
        f"{what} does not fit the task {spec.name}, which has {obs_dim(env)} observations and "
        f"{action_dim(env)} actions: it was made for another."
    )


@dataclass(frozen=True)
class Trained:
    """What a run has learned, as of its last checkpoint."""

    config: RunConfig
    state: State
    ask: Ask
    """The run's reference; only an anchored policy may ask it."""
    checkpoint: Path

    def policy(self, ask: Ask | None = None) -> Policy:
        """Its deterministic policy; `ask` answers for the reference where that is known already."""
        return greedy_policy(self.config.agent, self.state, ask or self.ask)


def load_trained(directory: str | Path) -> Trained:
    """Read a run's last checkpoint."""
    config = read_config(directory)
    checkpoint = Path(directory) / CHECKPOINT_FILE
    if not checkpoint.exists():
        raise UserError(
            f"{directory} has no checkpoint yet. Let `nppac resume {directory}` run for a while."
        )
    env = make_env(get_task(config.task))
    agent: Agent = config.agent
    fresh: State = agent.init(jax.random.key(0), obs_dim(env), action_dim(env))
    ask = load_reference(Path(directory) / REFERENCE_FILE) if agent.anchored else _no_reference
    return Trained(config, load_state(checkpoint, fresh), ask, checkpoint)


def load_policy(directory: str | Path) -> tuple[RunConfig, Policy]:
    """A run's configuration and its deterministic policy as of the last checkpoint."""
    trained = load_trained(directory)
    return trained.config, trained.policy()


def _no_reference(obs: np.ndarray) -> ReferenceStats:
    raise AssertionError("a policy that is not anchored asked for its reference")


def evaluate_policy(spec: TaskSpec, act: Policy, episodes: int, seed: int) -> dict[str, Any]:
    """Returns and successes of a deterministic policy, with progress."""
    if episodes < 1:
        raise UserError(f"An evaluation needs at least one episode, not {episodes}.")
    envs = [make_env(spec) for _ in range(min(8, episodes))]
    with progress_bar("Evaluating", episodes) as advance:
        return evaluate(envs, act, episodes=episodes, seed=seed, advance=advance).as_dict()


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
        "updates_per_second": float(np.nanmedian(metrics["updates_per_second"]))
        if run.progress.updates
        else None,
    }


def group_by_method(directories: Sequence[Path]) -> dict[str, list[Path]]:
    """Runs of one task by the name of their method."""
    configs = [read_config(directory) for directory in directories]
    tasks = sorted({config.task for config in configs})
    if len(tasks) != 1:
        raise UserError(f"A comparison needs runs of one task; these are of {tasks}.")
    groups: dict[str, list[Path]] = {}
    for directory, config in zip(directories, configs, strict=True):
        groups.setdefault(config.method, []).append(directory)
    return groups


def evaluation_measure(runs: Sequence[Mapping[str, np.ndarray]]) -> str:
    """What runs are judged by: success where the task reports it, else return."""
    unknown = all(np.isnan(run["eval_success_any"]).all() for run in runs)
    return "return" if unknown else "success at any step"


def evaluation_summary(
    runs: Sequence[Mapping[str, np.ndarray]],
) -> tuple[list[float], list[float], list[float]]:
    """First, last and best evaluation of each run, by the task's measure."""
    measured = evaluation_measure(runs) == "success at any step"
    column = "eval_success_any" if measured else "eval_return_mean"
    values = [run[column][~np.isnan(run[column])] for run in runs]
    return (
        [float(v[0]) for v in values],
        [float(v[-1]) for v in values],
        [float(np.max(v)) for v in values],
    )


def provenance() -> dict[str, Any]:
    """Version, commit and command, for the record."""
    return {
        "nppac": nppac.__version__,
        "commit": commit(),
        "command": shlex.join(["nppac", *sys.argv[1:]]),
    }


def commit() -> str | None:
    """Commit of the source tree, with a mark where it has uncommitted changes."""
    try:
        described = subprocess.run(
            ["git", "describe", "--always", "--dirty", "--abbrev=12", "--exclude=*"],
            cwd=Path(__file__).parent,
            capture_output=True,
            text=True,
            check=True,
            timeout=10,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return described.stdout.strip()


def to_json(config: RunConfig) -> dict[str, Any]:
    """The configuration as plain data."""
    return json.loads(json.dumps(dataclasses.asdict(config)))


def read_config(directory: str | Path) -> RunConfig:
    """The configuration of a run's directory."""
    if not Path(directory).is_dir():
        raise UserError(f"There is no run directory {directory}.{nearest_path(directory)}")
    path = Path(directory) / CONFIG_FILE
    if not path.exists():
        raise UserError(f"{directory} is not the directory of a run: it has no {CONFIG_FILE}.")
    stored = read_json(path)
    if not isinstance(stored, dict):
        raise UserError(f"{path} does not hold the configuration of a run.")
    stored.pop("provenance", None)
    method = get_method(str(stored.get("method", RunConfig.method)))
    agent = _from_json(method.agent, stored.pop("agent", {}), f"{path}: 'agent'")
    return dataclasses.replace(_from_json(RunConfig, stored, str(path)), agent=agent)


def _from_json(kind: Any, value: Any, where: str) -> Any:
    """Rebuild dataclasses and tuples from plain data, by their annotations."""
    if dataclasses.is_dataclass(kind):
        hints = typing.get_type_hints(kind)
        unknown = sorted(set(value) - set(hints))
        if unknown:
            raise UserError(
                f"{where} has settings that this version does not know: {', '.join(unknown)}."
            )
        values = {k: _from_json(hints[k], v, f"{where}: '{k}'") for k, v in value.items()}
        return typing.cast(Any, kind)(**values)
    if typing.get_origin(kind) in (types.UnionType, typing.Union) and value is not None:
        first, *others = typing.get_args(kind)
        words = [word for other in others for word in typing.get_args(other)]  # of a Literal
        return value if value in words else _from_json(first, value, where)
    numbers = int | float if kind is float else kind
    if kind in (bool, int, float, str) and not isinstance(value, numbers):
        raise UserError(f"{where} is {value!r}; expected {kind.__name__}.")
    return tuple(value) if isinstance(value, list) else value
