import os
import subprocess
import sys

import numpy as np
import pytest

from nppac.tasks import (
    get_task,
    make_env,
    simulator,
)


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
