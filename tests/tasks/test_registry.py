import importlib
import sys

import pytest

from nppac.tasks import (
    TaskSpec,
    get_task,
    make_env,
    obs_dim,
    register_task,
)
from nppac.tasks import registry as tasks
from nppac.utils.errors import UserError

from .echo import steps_to_truncation


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
    own_module("robot_parts", "from tasks.echo import Echo\ndef make(**_): return Echo()\n")
    spec = TaskSpec("far", "robot_environment:nppac-tasks/Far-v0")
    assert steps_to_truncation(make_env(spec)) == 6
    assert get_task(spec.env_id).horizon == 6


def test_a_module_that_fails_says_how(own_module):
    module = own_module("broken_robots", "nonsense")
    with pytest.raises(UserError, match="task 'broken_robots:R-v0': NameError: name 'nonsense'"):
        get_task(f"{module}:R-v0")


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


def test_register_task(monkeypatch):
    monkeypatch.setattr(tasks, "TASKS", dict(tasks.TASKS))
    spec = TaskSpec("mine", "nppac-tasks/Echo-v0", horizon=4)
    register_task(spec)
    register_task(spec)
    assert get_task("mine") is spec
    with pytest.raises(UserError, match="door"):
        register_task(TaskSpec("door", "Hopper-v5"))
