"""Demonstrations as a task wants them: of its shapes, its length and its units."""

import dataclasses
import sys
from typing import Any

import gymnasium

from nppac.demos.data import Demos
from nppac.demos.load import load_demos
from nppac.demos.validate import validate
from nppac.tasks import TaskSpec, action_dim, make_env, obs_dim


def load_task_demos(spec: TaskSpec, source: str | None, episodes: int | None) -> Demos | None:
    """The demonstrations, cut to the task's length and checked against its shapes."""
    return None if source is None else task_demos(spec, load_demos(source), source, episodes)


def task_demos(spec: TaskSpec, demos: Demos, source: str, episodes: int | None = None) -> Demos:
    """The same of demonstrations that are at hand; `source` names them in notes."""
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
