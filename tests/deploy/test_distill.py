import numpy as np

from nppac.deploy.config import DistillConfig
from nppac.deploy.dataset import LabelledStates, label_states
from nppac.deploy.distill import distill
from nppac.tasks import get_task, make_env
from toy_task import ACTION_DIM, HORIZON, OBS_DIM, TASK

CONFIG = DistillConfig(hidden=(32,), rounds=2, episodes=10, epochs=150, batch_size=32, seed=3)
NONE = LabelledStates(np.zeros((0, OBS_DIM), np.float32), np.zeros((0, ACTION_DIM), np.float32))


def teacher(obs):
    return np.tanh(-1.5 * obs[:, :ACTION_DIM])


def taught_student(replayed=NONE, config=CONFIG, by=teacher):
    envs = [make_env(get_task(TASK)) for _ in range(2)]
    return distill(envs, by, replayed, config, TASK)


def test_each_round_adds_what_the_teacher_does_where_the_student_comes():
    asked = []

    def watched(obs):
        asked.append(len(obs))
        return teacher(obs)

    student, rounds = taught_student(by=watched)
    assert [done.driver for done in rounds] == ["teacher", "student", "student"]
    steps = (CONFIG.episodes - 1) * HORIZON  # one episode of each round is held out
    assert [done.lessons for done in rounds] == [steps, 2 * steps, 3 * steps]
    assert sum(size > 2 for size in asked) == 2  # once a round, about all of its states
    assert rounds[-1].held_out_error < 0.05
    assert rounds[0].success_any is not None
    obs = np.random.default_rng(0).normal(0, 0.7, (200, OBS_DIM)).astype(np.float32)
    obs[:, 2] = np.linspace(0, 1, 200)
    assert np.sqrt(np.mean((student(obs) - teacher(obs)) ** 2)) < 0.1


def test_replayed_states_are_learned_from_too_and_a_tenth_is_held_out():
    obs = np.random.default_rng(1).normal(size=(1000, OBS_DIM)).astype(np.float32)
    quick = DistillConfig(hidden=(4,), rounds=0, episodes=2, epochs=1)
    _, [only] = taught_student(label_states(obs, teacher), quick)
    assert only.lessons == 900 + HORIZON


def test_the_same_seed_gives_the_same_student():
    quick = DistillConfig(hidden=(4,), rounds=1, episodes=2, epochs=2)
    first, again = (taught_student(config=quick)[0] for _ in range(2))
    for a, b in zip(first.weights, again.weights, strict=True):
        np.testing.assert_array_equal(a, b)
