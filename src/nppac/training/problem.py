"""What a run works on, checked before anything is written."""

from dataclasses import dataclass

import gymnasium
import numpy as np

from nppac.agents.registry import get_method
from nppac.demos import Demos, task_rewards
from nppac.references import (
    CustomReference,
    Reference,
    UniformReference,
    checked_answer,
    fitted_reference,
    given_reference,
)
from nppac.tasks import TaskSpec, action_dim, make_env, obs_dim
from nppac.tasks.shapes import shape_mismatch
from nppac.training.config import RunConfig
from nppac.training.memory import check_data_memory, reported_by
from nppac.types import Episode
from nppac.utils.errors import UserError


@dataclass(frozen=True)
class Problem:
    """What a run works on: environments, the frozen reference and the demonstrations."""

    env: gymnasium.Env
    eval_envs: tuple[gymnasium.Env, ...]
    reference: Reference
    demos: tuple[Episode, ...]
    obs_dim: int
    action_dim: int


def obtain_reference(
    config: RunConfig, spec: TaskSpec, demos: Demos | None, *, refit: bool = False
) -> Reference:
    """Fit the named reference with progress, or take the function or file that was given.

    What was fitted before comes from the cache, unless `refit` is asked for.
    """
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
    sizes = demos.obs.shape[1], demos.actions.shape[1]
    check_data_memory(config.schedule, *sizes, len(demos.obs))  # before the fit, which takes long
    settings = {"seed": config.seed, "gp": config.gp, "network": config.network}
    data = demos.obs, demos.actions
    return fitted_reference(config.reference, *data, **settings, custom=config.custom, refit=refit)


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
    check_copies(config, reference)
    sizes = obs_dim(env), action_dim(env)
    check_data_memory(config.schedule, *sizes, 0 if demos is None else len(demos.obs))
    reported_by(config.agent, config.schedule, *sizes, reference.family)
    eval_count = min(config.schedule.eval_envs, config.schedule.eval_episodes)
    return Problem(
        env=env,
        eval_envs=tuple(make_env(spec) for _ in range(eval_count)),
        reference=reference,
        demos=() if demos is None else demos.episodes,
        obs_dim=sizes[0],
        action_dim=sizes[1],
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


def check_copies(config: RunConfig, reference: Reference) -> None:
    """Refuse noisy copies of demonstrated states where no reference says how to act there."""
    schedule = config.schedule
    if reference.family == "uniform" and schedule.pretrain_epochs and schedule.pretrain_copies:
        raise UserError(
            f"'pretrain_copies' is {schedule.pretrain_copies}, but at copies of demonstrated "
            "states only a reference knows an action, and the uniform one knows none: add "
            "--pretrain-copies 0."
        )


def reads_rewards(config: RunConfig) -> bool:
    """Whether the method, or a setting that another one has, learns from demonstrated rewards."""
    needs, schedule = get_method(config.method).needs, config.schedule
    share = getattr(config.agent, "offline_ratio", 0.0)
    asked = schedule.demos_in_replay or schedule.offline_updates or share
    return needs in ("rewards", "episodes") or bool(asked)


def _check_reference(
    reference: Reference, what: str, spec: TaskSpec, env: gymnasium.Env, demos: Demos | None
) -> None:
    """Query a few states, to see before anything is written that the answers are densities."""
    obs = np.zeros((1, obs_dim(env)), np.float32) if demos is None else demos.obs[:16]
    try:
        answer = reference(obs)
    except (TypeError, UserError) as error:
        if isinstance(reference, CustomReference):  # names itself and what it did
            raise
        raise shape_mismatch(what, spec, env) from error
    if checked_answer(answer, len(obs), what).loc.shape[1] != action_dim(env):
        raise shape_mismatch(what, spec, env)
