"""Demonstrations as a task wants them: of its environment, its shapes, its length and its units."""

import re
import sys
from dataclasses import replace

from nppac.demos.data import Demos
from nppac.demos.load import load_demos
from nppac.demos.metadata import ENV_ID, ActionUnits
from nppac.demos.rest import without_rest
from nppac.demos.units import in_normalised_units
from nppac.demos.validate import validate
from nppac.tasks import TaskSpec, action_dim, make_env, obs_dim
from nppac.utils.errors import UserError

_VARIANT = re.compile(r"(Sparse|Dense)?(-v\d+)?$")
"""What ids of one robot differ by: its reward and its version."""


def load_task_demos(
    spec: TaskSpec, source: str | None, episodes: int | None, actions: ActionUnits = "auto"
) -> Demos | None:
    """The demonstrations, cut to the task's length and checked against its shapes.

    `actions` says which units the file's actions are in; "auto" asks the file.
    """
    if source is None:
        return None
    return task_demos(spec, load_demos(source), source, episodes, actions)


def task_demos(
    spec: TaskSpec,
    demos: Demos,
    source: str,
    episodes: int | None = None,
    actions: ActionUnits = "auto",
) -> Demos:
    """The same of demonstrations that are at hand; `source` names them in notes."""
    if episodes is not None:
        demos = demos.first(episodes)
    notes = _origin_notes(demos, spec, source)
    env = make_env(spec)
    try:
        demos = in_normalised_units(demos, env, actions, source, action_dim(env))
        demos, mended = validate(
            demos, obs_dim=obs_dim(env), action_dim=action_dim(env), task_name=spec.name
        )
        limit = env.spec.max_episode_steps if env.spec else None
    finally:
        env.close()
    _tell(source, notes + mended)
    demos = demos if spec.demo_steps is None else demos.truncate(spec.demo_steps)
    demos = _time_limits_as_such(_wrapped(demos, spec), limit, source)
    if spec.rest_is_failure:
        demos, notes = without_rest(demos)
        _tell(source, notes)
    return demos


def _tell(source: str, notes: list[str]) -> None:
    for note in notes:
        print(f"{source}: {note}", file=sys.stderr)


def _wrapped(demos: Demos, spec: TaskSpec) -> Demos:
    episodes = (replace(e, observations=spec.wrapped(e.observations)) for e in demos.episodes)
    return replace(demos, episodes=tuple(episodes)) if spec.angles else demos


def _origin_notes(demos: Demos, spec: TaskSpec, source: str) -> list[str]:
    """Refuse demonstrations of another robot; a note where only the version is another."""
    if ENV_ID not in demos.metadata:
        return []
    recorded = str(demos.metadata[ENV_ID]).rpartition(":")[2]
    asked = spec.env_id.rpartition(":")[2]
    if _VARIANT.sub("", recorded) != _VARIANT.sub("", asked):
        raise UserError(
            f"{source} was recorded in {recorded}, but the task {spec.name} is {asked}. Give the "
            "task that it was recorded in. If both are one environment under two names, write a "
            f"file with the other name: `nppac demos convert {source} NEW.npz --env-id {asked}`."
        )
    versions = [re.findall(r"-v\d+$", name) for name in (recorded, asked)]
    if versions[0] == versions[1]:
        return []
    return [f"Recorded in {recorded}, where the task {spec.name} is {asked}."]


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
    episodes = tuple(replace(e, terminated=e.terminated and not end) for e, end in kept)
    return replace(demos, episodes=episodes)
