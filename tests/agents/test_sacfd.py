"""SACfD: SAC whose replay starts with the demonstrations."""

import dataclasses

import jax
import numpy as np

from nppac.agents.kl_actor_critic import KLActorCritic
from nppac.references import UniformReference
from nppac.tasks import get_task, make_env
from nppac.tasks.rollout import rollout
from nppac.training.loop import train_to_end
from nppac.training.presets import preset
from nppac.training.problem import Problem
from toy_task import ACTION_DIM, OBS_DIM, SCHEDULE, TASK, expert


def toy_problem(demos=()) -> Problem:
    spec = get_task(TASK)
    envs = [make_env(spec) for _ in range(2)]
    reference = UniformReference(ACTION_DIM)
    return Problem(envs[0], (envs[1],), reference, demos, OBS_DIM, ACTION_DIM)


def trained(directory, name, demos=(), **changes):
    """A short run with the settings of the method's paper preset, and small networks."""
    config = preset(TASK, name, "paper")
    agent: KLActorCritic = dataclasses.replace(config.agent, policy_hidden=(8,), critic_hidden=(8,))
    shown = config.schedule.demos_in_replay
    assert shown == (name == "sacfd")
    schedule = dataclasses.replace(SCHEDULE, demos_in_replay=shown, **changes)
    directory.mkdir()
    return train_to_end(toy_problem(demos), agent, schedule, 3, directory)


def same(left, right) -> None:
    for ours, theirs in zip(jax.tree.leaves(left), jax.tree.leaves(right), strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_sacfd_without_demonstrations_is_sac_bit_for_bit(tmp_path):
    sac, sacfd = (trained(tmp_path / name, name) for name in ("sac", "sacfd"))
    assert sac.progress.updates == sacfd.progress.updates == 80
    same(sac.state, sacfd.state)
    same(sac.replay, sacfd.replay)


def test_the_replay_starts_with_the_demonstrations(tmp_path):
    demos = tuple(rollout([make_env(get_task(TASK))], expert, range(2)))
    run = trained(tmp_path / "sacfd", "sacfd", demos, steps=40, replay_capacity=1000)
    shown = sum(len(episode) for episode in demos)
    assert int(run.replay.size) == shown + 40
    np.testing.assert_array_equal(
        run.replay.storage.action[:shown], np.concatenate([episode.actions for episode in demos])
    )
    np.testing.assert_array_equal(
        run.replay.storage.reward[:shown],
        np.concatenate([episode.rewards for episode in demos]).astype(np.float32),
    )
    alone = trained(tmp_path / "sac", "sac", steps=40)
    ours, theirs = (r.state.critic.members.weights[0] for r in (run, alone))
    assert not np.array_equal(ours, theirs)  # it learns from them
