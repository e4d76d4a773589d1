import numpy as np
import pytest

from nppac.tasks import action_dim, get_task, make_env, obs_dim

from .echo import steps_to_truncation


@pytest.mark.parametrize(
    ("name", "observations", "actions", "horizon"),
    [
        ("halfcheetah", 17, 6, 1000),
        ("walker2d", 17, 6, 1000),
        ("ant", 27, 8, 1000),
        ("door", 39, 28, 200),
        ("pen", 45, 24, 100),
    ],
)
def test_paper_tasks(name, observations, actions, horizon):
    env = make_env(get_task(name))
    assert (obs_dim(env), action_dim(env)) == (observations, actions)
    assert env.get_wrapper_attr("_max_episode_steps") == horizon
    assert env.observation_space.dtype == np.float32
    obs, _ = env.reset(seed=1)
    assert obs.dtype == np.float32
    assert obs.shape == (observations,)
    assert np.all(env.action_space.low == -1)
    assert np.all(env.action_space.high == 1)


def test_pen_ends_at_100_steps():
    assert steps_to_truncation(make_env(get_task("pen"))) == 100


def test_door_pays_one_while_the_door_is_open_and_nothing_else():
    env = make_env(get_task("door"))
    env.reset(seed=0)
    still = np.zeros(28, np.float32)
    assert env.step(still)[1] == 0.0
    simulation = env.unwrapped
    simulation.data.qpos[simulation.door_hinge_addrs] = 1.5
    _, reward, terminated, _, info = env.step(still)
    assert reward == 1.0
    assert info["success"]
    assert not terminated


def test_demonstrations_of_the_door_are_cut_at_its_horizon():
    assert get_task("door").demo_steps == 200
    assert get_task("pen").demo_steps is None


def door_states(env, rng):
    """The door anywhere between shut and beyond success, most often near it."""
    for angle in np.concatenate([rng.uniform(0, 1.57, 30), rng.normal(1.35, 0.01, 60)]):
        env.reset(seed=int(rng.integers(1000)))
        state = env.unwrapped.get_env_state()
        state["qpos"][env.unwrapped.door_hinge_addrs] = angle
        env.unwrapped.set_env_state(state)
        yield


def pen_states(env, rng):
    """The pen moved and turned a little from where it should be."""
    from gymnasium_robotics.utils.rotations import euler2quat

    for _ in range(90):
        env.reset(seed=int(rng.integers(1000)))
        state = env.unwrapped.get_env_state()
        angles = np.array([*rng.uniform(-1, 1, 2), 0.0])
        state["desired_orien"] = euler2quat(angles)
        state["qpos"][-6:-3] += rng.normal(0, 0.03, 3)
        # The pen's own axis is a quarter turn from the target's.
        state["qpos"][-3:] = angles - [0, np.pi / 2, 0] + rng.normal(0, 0.1, 3)
        env.unwrapped.set_env_state(state)
        yield


@pytest.mark.parametrize(("name", "states"), [("door", door_states), ("pen", pen_states)])
def test_the_rule_of_success_is_the_environments_own(name, states):
    spec, rng = get_task(name), np.random.default_rng(0)
    env, pairs = make_env(spec), []
    for _ in states(env, rng):
        for _ in range(3):
            action = rng.uniform(-1, 1, action_dim(env)).astype(np.float32)
            obs, reward, _, _, info = env.step(action)
            assert reward == float(info["success"])
            pairs.append((bool(spec.success_in(obs[None])[0]), bool(info["success"])))
    found, expected = np.array(pairs).T
    assert 0.1 < expected.mean() < 0.9  # both outcomes, often
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("name", ["door", "pen"])
def test_the_rule_of_success_on_whole_episodes(name):
    spec, rng = get_task(name), np.random.default_rng(1)
    env = make_env(spec)
    for seed in range(3):
        env.reset(seed=seed)
        for _ in range(spec.horizon):
            obs, _, _, _, info = env.step(rng.uniform(-1, 1, action_dim(env)).astype(np.float32))
            assert spec.success_in(obs[None]).tolist() == [bool(info["success"])]
