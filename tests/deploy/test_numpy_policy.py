import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import nppac
from nppac.deploy.numpy_policy import NumpyPolicy, kind_of, load_numpy_policy
from nppac.deploy.student import actions_of, plain
from nppac.references import UniformReference
from nppac.utils.errors import UserError
from nppac.utils.files import read_arrays, write_arrays

from .students import ACTION_DIM, OBS_DIM, bounds, make_student, states

GUIDE = Path(__file__).parents[2] / "docs" / "guide.md"


def test_numpy_computes_what_jax_does(saved):
    student, obs = make_student(), states()
    expected = actions_of(student.network, student.units(obs))
    assert 0.3 < np.abs(expected).max() < 1.0
    np.testing.assert_allclose(load_numpy_policy(saved)(obs), expected, atol=1e-6)


def test_a_file_comes_back_whole(saved):
    policy, before = nppac.load_policy(saved), plain(make_student(), "door")
    assert (policy.task, policy.record) == ("door", {"run": "runs/x"})
    assert (policy.obs_dim, policy.action_dim) == (OBS_DIM, ACTION_DIM)
    np.testing.assert_array_equal(policy(states()), before(states()))


def test_one_observation_gives_one_action(saved):
    policy, obs = load_numpy_policy(saved), states()
    action = policy(obs[0])
    assert action.dtype == np.float32
    np.testing.assert_allclose(action, policy(obs)[0], atol=1e-6)


def test_the_guides_own_lines_read_the_file(saved, monkeypatch):
    monkeypatch.chdir(saved.parent)
    [code] = [
        block
        for block in re.findall(r"```python\n(.*?)```", GUIDE.read_text(), re.DOTALL)
        if "weight_" in block
    ]
    scope = {}
    exec(code, scope)
    for obs in states(3):
        np.testing.assert_allclose(scope["act"](obs), load_numpy_policy(saved)(obs), atol=1e-6)


def test_the_guide_names_every_array(saved):
    for name in read_arrays(saved):
        assert f"`{re.sub('[0-9]', 'i', name)}`" in GUIDE.read_text()


def test_numbers_are_little_endian_rows_that_any_language_can_read(saved):
    numbers = {n: a for n, a in read_arrays(saved).items() if a.ndim}
    assert {array.dtype.str for array in numbers.values()} == {"<f4"}
    assert all(array.flags.c_contiguous for array in numbers.values())


def test_acting_imports_numpy_alone(saved):
    others = ("jax", "equinox", "gymnasium", "mujoco", "rich", "scipy")
    code = f"""
import sys
for name in {others}:
    sys.modules[name] = None  # importing it fails
import nppac
print(nppac.load_policy({str(saved)!r})([0.0] * {OBS_DIM}).shape)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert (done.stdout, done.stderr) == (f"({ACTION_DIM},)\n", "")


@pytest.mark.parametrize(
    ("obs", "message"),
    [
        (np.zeros(OBS_DIM + 1), "takes observations of 5 numbers, not of shape (6,)"),
        (np.zeros((2, 2, OBS_DIM)), "not of shape (2, 2, 5)"),
        (np.zeros(()), "not of shape ()"),
        (np.full(OBS_DIM, np.nan), "not finite"),
    ],
)
def test_an_observation_that_does_not_fit_is_refused(saved, obs, message):
    with pytest.raises(UserError, match=re.escape(message)):
        load_numpy_policy(saved)(obs)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"kind": np.array("gp")}, "holds no distilled policy (its kind is 'gp')"),
        ({"kind": None}, "its kind is 'none'"),
        ({"format": np.array(2)}, "another version"),
        ({"format": np.array("two")}, "another version"),
        ({"format": np.array([1, 1])}, "another version"),
        ({"bias_1": None}, "does not hold a complete policy ('bias_1')"),
        ({"weight_1": np.zeros((2, 2), np.float32)}, "layers do not fit one another"),
        ({"spread": np.ones(2, np.float32)}, "layers do not fit one another"),
        ({"layers": np.array(0)}, "layers do not fit one another"),
        ({"record": np.array("{")}, "does not hold a complete policy"),
        ({"record": np.array("[" * 100_000)}, "nested more than 64 levels"),
        ({"record": np.array("[1]")}, "'record' is no JSON object"),
        ({"record": np.array("x" * 2**21)}, "'record' is no text of at most 1,048,576"),
        ({"record": np.array(1.5)}, "'record' is no text"),
        ({"task": np.array(["a", "b"])}, "'task' is no text of at most 1,000"),
        ({"task": np.array("x" * 2000)}, "'task' is no text of at most 1,000"),
        ({"kind": np.array("x" * 10**6)}, "holds no distilled policy"),
        ({"layers": np.array(np.inf)}, "'layers' is no whole number"),
        ({"layers": np.array(3.7)}, "'layers' is no whole number"),
        ({"layers": np.array(2**62)}, "'weight_3'"),
        ({"low": np.full(3, -1, np.float32)}, "one is missing"),
        (bounds(-3e38, 3e38), "are no range of actions"),
        (bounds(1, -1), "are no range of actions"),
        (bounds(1, 1), "are no range of actions"),
        (bounds("a", "b"), "'low' is of type <U1"),
        (bounds(np.nan, 1.0), "'low' holds numbers that are not finite"),
        (
            {"weight_2": np.zeros((32, 0), np.float32), "bias_2": np.zeros(0, np.float32)},
            "has no entries",
        ),
        (
            {"weight_2": np.zeros(32, np.float32), "bias_2": np.array(0, np.float32)},
            "has no entries",
        ),
    ],
)
def test_a_file_that_holds_something_else_is_refused(saved, change, message):
    arrays = {**read_arrays(saved), **change}
    write_arrays(saved, {name: array for name, array in arrays.items() if array is not None})
    with pytest.raises(UserError, match=re.escape(message)) as error:
        load_numpy_policy(saved)
    assert str(saved) in str(error.value)
    assert len(str(error.value)) < len(str(saved)) + 500


def test_files_of_policies_and_references_are_told_apart(saved, tmp_path):
    UniformReference(2).save(tmp_path / "reference.npz")
    assert (kind_of(saved), kind_of(tmp_path / "reference.npz")) == ("policy", "uniform")
    np.savez(tmp_path / "other.npz", x=np.zeros(2))
    with pytest.raises(UserError, match=r"other\.npz holds no policy\. Give"):
        kind_of(tmp_path / "other.npz")


def test_a_policy_without_layers_is_none():
    with pytest.raises(UserError, match="do not fit"):
        NumpyPolicy(np.zeros(2), np.ones(2), (), (), "door")
