import importlib
import os
import subprocess
import sys

import gymnasium as gym
import numpy as np
import pytest
from gymnasium import spaces

from nppac.tasks import (
    TaskSpec,
    action_dim,
    environment,
    get_task,
    make_env,
    obs_dim,
    register_task,
    simulator,
)
from nppac.tasks import registry as tasks
from nppac.utils.errors import UserError


class Echo(gym.Env):
    """Remembers its last action; reports what it is told to."""

    def __init__(self, observation_space=None, action_space=None, info=None, render_mode=None):
        self.observation_space = observation_space or spaces.Box(-np.inf, np.inf, (2,))
        self.action_space = action_space or spaces.Box(-1.0, 1.0, (1,), np.float32)
        self.render_mode = render_mode
        self._info = info or {}
        self._buffer = np.zeros(
            2, np.float32
        )  # one buffer for all observations, as some simulators do

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        if isinstance(self.observation_space, spaces.Dict):
            return {"goal": np.array([7.0]), "achieved": np.array([1.0, 2.0])}, {}
        self._position = np.full(2, 0.5)
        return self._position, {}

    def step(self, action):
        self.last_action = np.array(action)
        self._position = self._position + 1.0
        return self._position, -0.25, False, False, dict(self._info)


gym.register("nppac-tasks/Echo-v0", entry_point=Echo, max_episode_steps=7)


def echo(**kwargs) -> TaskSpec:
    horizon, reward = kwargs.pop("horizon", None), kwargs.pop("reward", "environment")
    return TaskSpec(
        "echo", "nppac-tasks/Echo-v0", env_kwargs=kwargs, horizon=horizon, reward=reward
    )


def steps_to_truncation(env: gym.Env) -> int:
    env.reset(seed=0)
    action = np.zeros(env.action_space.shape, np.float32)
    for step in range(1, 2000):
        _, _, terminated, truncated, _ = env.step(action)
        if terminated or truncated:
            assert truncated
            return step
    raise AssertionError("no time limit")


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


def test_horizon_overrides_and_none_keeps_the_environments_own():
    assert steps_to_truncation(make_env(echo(horizon=3))) == 3
    assert steps_to_truncation(make_env(echo())) == 7


def test_observations_are_float32():
    env = make_env(echo(observation_space=spaces.Box(-np.inf, np.inf, (2,), np.float64)))
    first, _ = env.reset(seed=0)
    second = env.step(np.zeros(1, np.float32))[0]
    assert first.dtype == second.dtype == env.observation_space.dtype == np.float32
    np.testing.assert_array_equal(first, [0.5, 0.5])
    np.testing.assert_array_equal(second, [1.5, 1.5])


def test_dict_observations_are_flattened_by_sorted_key():
    space = spaces.Dict(
        {"goal": spaces.Box(-9, 9, (1,)), "achieved": spaces.Box(-9, 9, (2,), np.float64)}
    )
    env = make_env(echo(observation_space=space))
    obs, _ = env.reset(seed=0)
    np.testing.assert_array_equal(obs, np.float32([1.0, 2.0, 7.0]))
    assert obs.dtype == np.float32
    assert obs_dim(env) == 3


def test_actions_are_rescaled_from_the_unit_box():
    space = spaces.Box(np.float32([-2.0, 0.0]), np.float32([2.0, 10.0]))
    env = make_env(echo(action_space=space))
    env.reset(seed=0)
    env.step(np.float32([0.5, -1.0]))
    np.testing.assert_allclose(env.unwrapped.last_action, [1.0, 0.0], atol=1e-6)


def test_an_action_space_of_the_unit_box_is_left_alone():
    assert "RescaleAction" not in str(make_env(get_task("halfcheetah")))


@pytest.mark.parametrize("key", ["success", "is_success"])
@pytest.mark.parametrize("value", [True, False, np.True_, 1.0])
def test_success_reward(key, value):
    env = make_env(echo(reward="success", info={key: value}))
    env.reset(seed=0)
    assert env.step(np.zeros(1, np.float32))[1] == float(value)


def test_environment_reward_is_kept():
    env = make_env(echo(info={"success": True}))
    env.reset(seed=0)
    assert env.step(np.zeros(1, np.float32))[1] == -0.25


def test_success_reward_without_reports_is_refused():
    env = make_env(echo(reward="success"))
    env.reset(seed=0)
    with pytest.raises(UserError, match="is_success"):
        env.step(np.zeros(1, np.float32))


@pytest.mark.parametrize(
    ("space", "remedy"),
    [
        (spaces.Discrete(3), "gymnasium.ActionWrapper"),
        (spaces.MultiBinary(3), "gymnasium.ActionWrapper"),
        (spaces.Box(-np.inf, np.inf, (2,)), "give its action_space the bounds"),
        (spaces.Box(0, 5, (2,), np.int64), "TransformAction to take floats"),
        (spaces.Box(-1.0, 1.0, (2, 2)), "the flattened matrix"),
        (spaces.Box(np.float32([-1, 0]), np.float32([1, 0])), "entries that cannot move"),
    ],
    ids=["discrete", "binary", "unbounded", "integers", "matrix", "fixed"],
)
def test_unusable_actions_are_refused_with_a_remedy(space, remedy):
    with pytest.raises(UserError) as caught:
        make_env(echo(action_space=space))
    assert str(space) in str(caught.value)
    assert "Box" in str(caught.value)
    assert remedy in str(caught.value)


@pytest.mark.parametrize(
    ("space", "found"),
    [
        (spaces.Discrete(16), "no numbers"),
        (spaces.Box(0, 255, (8, 8, 3), np.uint8), "images"),
        (spaces.Box(0, 255, (8, 8), np.uint8), "images"),
        (spaces.Dict({"a": spaces.Dict({"camera": spaces.Discrete(2)})}), "a.camera"),
    ],
    ids=["discrete", "image", "grey image", "nested"],
)
def test_unusable_observations_are_refused(space, found):
    with pytest.raises(UserError, match=found):
        make_env(echo(observation_space=space))


def test_gymnasium_ids_are_tasks():
    assert get_task("Hopper-v5") == TaskSpec("Hopper-v5", "Hopper-v5", horizon=1000)
    assert get_task("PointMaze_UMaze-v3").horizon == 300


def test_an_id_may_name_its_module():
    spec = get_task("gymnasium_robotics:PointMaze_UMaze-v3")
    assert obs_dim(make_env(spec)) == 8


@pytest.fixture
def own_module(tmp_path, monkeypatch):
    """Write a module into the working directory, as a user has it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(tasks, "TASKS", dict(tasks.TASKS))

    def write(name, text):
        (tmp_path / f"{name}.py").write_text(text)
        importlib.invalidate_caches()
        return name

    yield write
    for name in [path.stem for path in tmp_path.glob("*.py")]:
        sys.modules.pop(name, None)


def test_a_module_of_the_working_directory_may_register_a_task(own_module):
    module = own_module(
        "robots",
        "from nppac.tasks import TaskSpec, register_task\n"
        "register_task(TaskSpec('my-robot', 'nppac-tasks/Echo-v0', horizon=5))\n",
    )
    assert get_task(f"{module}:my-robot").horizon == 5
    assert get_task(f"{module}:nppac-tasks/Echo-v0").horizon == 7
    with pytest.raises(UserError, match="Did you mean 'my-robot'"):
        get_task(f"{module}:my-robto")


def test_an_environment_may_lie_in_another_module_of_the_working_directory(own_module):
    own_module(
        "robot_environment",
        "import gymnasium as gym\n"
        "gym.register('nppac-tasks/Far-v0', entry_point='robot_parts:make', max_episode_steps=6)\n",
    )
    own_module("robot_parts", "from tasks.test_tasks import Echo\ndef make(**_): return Echo()\n")
    spec = TaskSpec("far", "robot_environment:nppac-tasks/Far-v0")
    assert steps_to_truncation(make_env(spec)) == 6
    assert get_task(spec.env_id).horizon == 6


def test_a_module_that_fails_says_how(own_module):
    module = own_module("broken_robots", "nonsense")
    with pytest.raises(UserError, match="task 'broken_robots:R-v0': NameError: name 'nonsense'"):
        get_task(f"{module}:R-v0")


def test_an_environment_without_a_time_limit_gets_one(capsys):
    gym.register("nppac-tasks/Endless-v0", entry_point=Echo)
    for spec in (get_task("nppac-tasks/Endless-v0"), TaskSpec("mine", "nppac-tasks/Endless-v0")):
        assert steps_to_truncation(make_env(spec)) == environment.DEFAULT_HORIZON
    err = capsys.readouterr().err
    assert "nppac-tasks/Endless-v0 has no time limit: its episodes are cut after 1,000" in err
    assert err.count("\n") == 1  # said once, however often it is made


@pytest.mark.parametrize(
    ("name", "suggestion"),
    [
        ("dor", "door"),
        ("HalfCheetah", "halfcheetah"),
        ("hopper-v5", "Hopper-v5"),
        ("Hoper", "Hopper-v5"),
        ("AdroitHandDoorSpars-v1", "AdroitHandDoorSparse-v1"),
    ],
)
def test_unknown_names_come_with_the_nearest(name, suggestion):
    with pytest.raises(UserError, match=f"Did you mean '{suggestion}'"):
        get_task(name)


def test_an_unknown_name_near_nothing_lists_the_tasks_only():
    with pytest.raises(UserError, match="ant, door, halfcheetah, pen, walker2d") as caught:
        get_task("xyzzy")
    assert "Did you mean" not in str(caught.value)
    assert len(str(caught.value)) < 250


def test_a_module_that_is_missing():
    with pytest.raises(UserError, match="no_such_module"):
        get_task("no_such_module:Robot-v0")


def test_an_environment_whose_dependency_is_missing():
    def needs_more(**kwargs):
        raise ImportError("No module named 'robot_driver'")

    gym.register("nppac-tasks/Needy-v0", entry_point=needs_more)
    with pytest.raises(UserError, match="robot_driver"):
        make_env(get_task("nppac-tasks/Needy-v0"))


def test_register_task(monkeypatch):
    monkeypatch.setattr(tasks, "TASKS", dict(tasks.TASKS))
    spec = TaskSpec("mine", "nppac-tasks/Echo-v0", horizon=4)
    register_task(spec)
    register_task(spec)
    assert get_task("mine") is spec
    with pytest.raises(UserError, match="door"):
        register_task(TaskSpec("door", "Hopper-v5"))


def test_making_environments_prints_nothing_and_leaves_no_file(tmp_path):
    script = "from nppac.tasks import *; [make_env(get_task(n)) for n in ('halfcheetah', 'door')]"
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", script], cwd=tmp_path, capture_output=True, text=True
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert not list(tmp_path.iterdir())


def test_an_unstable_simulation_leaves_no_file_either(tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    env = make_env(get_task("walker2d"))
    env.reset(seed=0)
    env.unwrapped.data.qpos[0] = np.nan
    env.step(np.zeros(6, np.float32))
    assert "QPOS" in capfd.readouterr().err  # the message itself is for the user to see
    assert not list(tmp_path.iterdir())


def test_other_messages_of_mujoco_are_passed_on():
    import mujoco

    before = mujoco.get_mju_user_warning()
    model = mujoco.MjModel.from_xml_string(
        "<mujoco><worldbody><body><freejoint/><geom size='1'/></body></worldbody></mujoco>"
    )
    data = mujoco.MjData(model)
    data.qpos[0] = np.nan
    with pytest.warns(UserWarning, match="MuJoCo: .*QPOS"), simulator.quiet_mujoco():
        mujoco.mj_checkPos(model, data)
    assert mujoco.get_mju_user_warning() is before


@pytest.mark.parametrize(
    ("found", "already", "expected"),
    [
        ({"EGL", "OSMesa"}, {}, "egl"),
        ({"OSMesa"}, {}, "osmesa"),
        (set(), {}, None),
        ({"EGL"}, {"MUJOCO_GL": "glfw"}, "glfw"),
        ({"EGL"}, {"DISPLAY": ":0"}, None),
    ],
)
def test_headless_renderer(monkeypatch, found, already, expected):
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr("ctypes.util.find_library", lambda name: name if name in found else None)
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "MUJOCO_GL"):
        # Set first: the variable is then put back even where the code under test creates it.
        monkeypatch.setenv(name, already.get(name, ""))
        if name not in already:
            monkeypatch.delenv(name)
    simulator.choose_headless_renderer()
    assert os.environ.get("MUJOCO_GL") == expected


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
