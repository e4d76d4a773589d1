"""The doctor: a task, demonstrations and any reference in; a verdict out."""

import dataclasses
from dataclasses import dataclass

import numpy as np

from nppac.demos import Demos
from nppac.demos.for_task import load_task_demos, task_demos
from nppac.demos.metadata import ActionUnits
from nppac.diagnostics import Diagnosis, Evidence, OnlinePolicy, diagnose_reference, rollout_states
from nppac.diagnostics.query import BrokenReference, query
from nppac.references import (
    GPConfig,
    NetworkConfig,
    Reference,
    fitted_reference,
    given_reference,
)
from nppac.tasks import TaskSpec, get_task, make_env
from nppac.utils.progress import progress_bar

HELD_OUT = 0.2
"""Share of the episodes that is kept from a fit."""
ENVIRONMENTS = 4


@dataclass(frozen=True)
class Split:
    """Demonstrations to fit to, and whole episodes to check on."""

    fit: Demos
    check: Demos
    held_out: bool


def doctor(
    task: str,
    demos: Demos | str | None,
    reference: Reference | str,
    *,
    episodes: int = 4,
    seed: int = 0,
    gp: GPConfig | None = None,
    network: NetworkConfig | None = None,
    custom: object | None = None,
    demo_actions: ActionUnits = "auto",
    refit: bool = False,
) -> Diagnosis:
    """Diagnose a reference: one at hand, a name to fit, the file of one, or `module:function`.

    A fitted reference never sees the held-out episodes; one that was given is checked on all.
    `episodes` rollouts of the reference's mean, with exploration, say where acting leads; with 0
    there are none. `refit` fits again what was fitted before.
    """
    spec = get_task(task)
    if isinstance(demos, Demos):
        name = demos.source or "The demonstrations"
        loaded = task_demos(spec, demos, name, actions=demo_actions)
    else:
        loaded = load_task_demos(spec, demos or task, None, demo_actions)
    assert loaded is not None
    subject, split = reference, Split(loaded, loaded, held_out=False)
    if isinstance(subject, str):
        subject = given_reference(subject)
    if subject is None:
        split = split_demos(loaded, seed)
        data, settings = (split.fit.obs, split.fit.actions), {"gp": gp, "network": network}
        how = {**settings, "custom": custom, "refit": refit}
        subject = fitted_reference(str(reference), *data, seed=seed, **how)
    source = demos.source if isinstance(demos, Demos) else demos or task
    about = {"task": task, "demos": source, "reference": _name(reference), "seed": seed}
    return examine(spec, subject, split, episodes=episodes, seed=seed, about=about)


def _name(reference: Reference | str) -> str:
    if isinstance(reference, str):
        return reference
    return str(getattr(reference, "name", type(reference).__name__))


def split_demos(demos: Demos, seed: int) -> Split:
    """A fifth of the episodes, at least one, held out; with a single episode nothing is."""
    count = len(demos)
    if count < 2:
        return Split(demos, demos, held_out=False)
    order = np.random.default_rng(seed).permutation(count)
    held = set(order[: max(1, round(HELD_OUT * count))].tolist())

    def part(kept: bool) -> Demos:
        episodes = tuple(e for i, e in enumerate(demos.episodes) if (i not in held) == kept)
        return dataclasses.replace(demos, episodes=episodes)

    return Split(part(True), part(False), held_out=True)


def examine(
    spec: TaskSpec,
    reference: Reference,
    split: Split,
    *,
    episodes: int,
    seed: int,
    about: dict[str, object] | None = None,
) -> Diagnosis:
    """Diagnose a reference that is at hand; acts in the task for so many episodes."""
    evidence = Evidence(
        obs=split.fit.obs,
        check_obs=split.check.obs,
        check_actions=split.check.actions,
        check_episodes=len(split.check),
        held_out=split.held_out,
    )
    online = OnlinePolicy()
    if episodes > 0 and _answers(reference, evidence):
        try:
            states = _act(spec, reference, online.scale, episodes, seed)
        except BrokenReference as error:
            family = str(getattr(reference, "family", "unknown"))
            return Diagnosis("broken", str(error), family, online=online, about=about or {})
        evidence = dataclasses.replace(evidence, rollout_obs=states)
    return diagnose_reference(reference, evidence, seed=seed, online=online, about=about)


def _answers(reference: Reference, evidence: Evidence) -> bool:
    """Whether the reference can act at all; if not, `diagnose` says why."""
    try:
        query(reference, evidence.obs[:1], evidence.check_actions.shape[1], "")
    except BrokenReference:
        return False
    return True


def _act(
    spec: TaskSpec, reference: Reference, noise: float, episodes: int, seed: int
) -> np.ndarray:
    envs = [make_env(spec) for _ in range(min(ENVIRONMENTS, episodes))]
    try:
        rounds = -(-episodes // len(envs))
        with progress_bar("Acting", rounds * (spec.horizon or 1000)) as advance:
            return rollout_states(
                envs, reference, noise=noise, episodes=episodes, seed=seed, advance=advance
            )
    finally:
        for env in envs:
            env.close()
