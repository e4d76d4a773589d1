import numpy as np
import pytest

from nppac.agents.schedule import Schedule
from nppac.demos import Demos
from nppac.references import UniformReference
from nppac.tasks import get_task, make_env
from nppac.tasks.rest import WINDOW, RestTerminates
from nppac.tasks.rollout import collect, rollout
from nppac.training.config import RunConfig
from nppac.training.problem import make_problem
from nppac.types import Episode
from nppac.utils.errors import UserError

SPEC = get_task("halfcheetah")
RUNNING = np.linspace(1.0, 5.0, 17)  # a spread beside which a cheetah that lies still hardly moves


def still(obs):
    return np.zeros((len(obs), 6), np.float32)


def shaken(obs):
    return np.sign(np.sin(np.arange(6) + 50.0 * obs[:, :1])).astype(np.float32)


def test_an_episode_that_comes_to_rest_terminates():
    env = RestTerminates(make_env(SPEC), RUNNING)
    episodes = rollout([env], still, [0, 1])
    for episode in episodes:
        assert episode.terminated
        assert WINDOW - 1 <= len(episode) < 100


def test_the_next_episode_starts_with_nothing_seen():
    env = RestTerminates(make_env(SPEC), RUNNING)
    (first,), (second,) = (rollout([env], still, [0]) for _ in range(2))
    np.testing.assert_array_equal(first.observations, second.observations)


def test_an_episode_that_moves_goes_on():
    env = RestTerminates(make_env(SPEC), 0.01 * RUNNING)
    (episode,) = collect(env, shaken, iter([0]), 60)
    assert len(episode) == 60
    assert not episode.terminated


def test_an_observation_that_never_changed_has_no_scale():
    scale = RUNNING.copy()
    scale[3] = 0.0
    (episode,) = rollout([RestTerminates(make_env(SPEC), scale)], still, [0])
    assert episode.terminated


def config() -> RunConfig:
    schedule = Schedule(replay_capacity=1_000, eval_envs=1, rest_ends_episodes=True)
    return RunConfig(task="halfcheetah", method="sac", reference="uniform", schedule=schedule)


def test_only_training_episodes_end_at_rest():
    rng = np.random.default_rng(0)
    obs = rng.normal(0.0, RUNNING, (50, 17)).astype(np.float32)
    demos = Demos((Episode(obs, np.zeros((49, 6), np.float32)),))
    problem = make_problem(config(), SPEC, demos, UniformReference(6))
    (training,) = rollout([problem.env], still, [0])
    assert training.terminated
    (judged,) = collect(problem.eval_envs[0], still, iter([0]), 120)
    assert not judged.terminated


def test_without_demonstrations_nobody_knows_what_rest_is():
    with pytest.raises(UserError, match="'rest_ends_episodes' needs demonstrations"):
        make_problem(config(), SPEC, None, UniformReference(6))
