import threading
import time

import numpy as np
import pytest

from nppac.tasks import get_task, lock_step, make_env
from nppac.tasks.lock_step import LockStep
from nppac.tasks.rollout import rollout
from nppac.tasks.simulator import only_simulates

from .walk import Walk


@pytest.fixture
def four_threads(monkeypatch):
    monkeypatch.setattr(lock_step, "thread_count", lambda: 4)


def slow_step(seen: list[int]):
    """Takes far longer than a simulation; notes which thread took it."""

    def step() -> int:
        time.sleep(0.002)
        seen.append(threading.get_ident())
        return len(seen)

    return step


def mujoco_envs(count: int):
    return [make_env(get_task("halfcheetah")) for _ in range(count)]


def test_slow_simulations_are_shared_by_threads_from_the_second_step(four_threads):
    seen: list[int] = []
    with LockStep(mujoco_envs(2)) as together:
        together([slow_step(seen)] * 2)
        assert set(seen) == {threading.get_ident()}
        meeting = threading.Barrier(2, timeout=60)  # whoever comes alone waits, and fails
        assert sorted(together([meeting.wait] * 2)) == [0, 1]


def test_results_keep_their_order_on_threads(four_threads):
    def numbered(i: int):
        return lambda: (time.sleep(0.001 * (7 - i)), i)[1]

    with LockStep(mujoco_envs(3)) as together:
        for count in (7, 7, 2, 1):
            assert together([numbered(i) for i in range(count)]) == list(range(count))


def test_environments_of_another_kind_stay_on_the_thread_that_made_them(four_threads):
    seen: list[int] = []
    assert not only_simulates(Walk())
    with LockStep([*mujoco_envs(1), Walk()]) as together:
        for _ in range(3):
            together([slow_step(seen)] * 4)
    assert set(seen) == {threading.get_ident()}


def test_quick_steps_need_no_threads(four_threads, monkeypatch):
    monkeypatch.setattr(lock_step, "_SLOW_STEP", 1.0)  # on a busy machine anything may take long
    seen: list[int] = []
    with LockStep(mujoco_envs(2)) as together:
        for _ in range(3):
            together([lambda: seen.append(threading.get_ident())] * 50)
    assert set(seen) == {threading.get_ident()}


def test_an_environment_that_draws_stays_on_its_thread():
    env = mujoco_envs(1)[0]
    assert only_simulates(env)
    env.unwrapped.render_mode = "rgb_array"
    assert not only_simulates(env)


def test_what_a_step_raises_on_a_thread_reaches_the_caller(four_threads):
    def fails() -> None:
        raise ValueError("as shown")

    with LockStep(mujoco_envs(2)) as together:
        together([slow_step([])] * 2)
        with pytest.raises(ValueError, match="as shown"):
            together([fails, fails])


@pytest.mark.parametrize("threads", [2, 4])
def test_episodes_of_a_real_task_have_the_same_bits_on_threads(threads, monkeypatch):
    envs = [make_env(get_task("pen")) for _ in range(3)]
    rng = np.random.default_rng(0)
    weights = rng.standard_normal((45, 24)).astype(np.float32)

    def act(rows: np.ndarray) -> np.ndarray:
        return np.stack([np.tanh(row @ weights) for row in rows])

    monkeypatch.setattr(lock_step, "thread_count", lambda: 1)
    alone = rollout(envs, act, range(4))
    monkeypatch.setattr(lock_step, "thread_count", lambda: threads)
    monkeypatch.setattr(lock_step, "_SLOW_STEP", 0.0)
    for one, other in zip(rollout(envs, act, range(4)), alone, strict=True):
        np.testing.assert_array_equal(one.observations, other.observations)
        np.testing.assert_array_equal(one.rewards, other.rewards)
