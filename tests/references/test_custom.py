import sys

import numpy as np
import pytest

from nppac.references import ConstantVarianceReference, CustomReference, load_reference
from nppac.utils.errors import UserError

MODULE = """
import numpy as np

numbers = 3

def policy(obs):
    return 0.5 * obs[:, :2], np.full((len(obs), 2), 0.3)

def no_pair(obs):
    return obs

def negative(obs):
    return obs, -np.ones_like(obs)

def fails(obs):
    raise KeyError("joint")
"""


@pytest.fixture
def module(tmp_path, monkeypatch):
    (tmp_path / "my_robot.py").write_text(MODULE)
    (tmp_path / "broken_robot.py").write_text("import does_not_exist_at_all")
    monkeypatch.chdir(tmp_path)
    yield tmp_path
    for name in ("my_robot", "broken_robot"):
        sys.modules.pop(name, None)


def test_asks_the_function_and_round_trips(module):
    obs = np.arange(6.0).reshape(2, 3)
    path = list(sys.path)
    reference = CustomReference.named("my_robot:policy", "laplace")
    assert sys.path == path
    np.testing.assert_allclose(reference(obs).loc, 0.5 * obs[:, :2])
    np.testing.assert_allclose(reference(obs).scale, 0.3)
    reference.save(module / "reference.npz")
    loaded = load_reference(module / "reference.npz", trusted="my_robot:policy")
    assert isinstance(loaded, CustomReference)
    assert loaded.summary() == {"kind": "custom", "name": "my_robot:policy", "family": "laplace"}
    np.testing.assert_array_equal(loaded.mean(obs), reference.mean(obs))


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("my_robot", "Write it as module:function"),
        (":policy", "Write it as module:function"),
        ("no_robot:policy", "Cannot import the module 'no_robot'"),
        ("broken_robot:policy", "does_not_exist_at_all"),
        ("my_robot:polic", "Unknown function in module 'my_robot' 'polic'. Did you mean 'policy'"),
        ("my_robot:numbers", "is a int, not a function"),
    ],
)
def test_bad_names_are_named(module, name, message):
    with pytest.raises(UserError, match=message):
        CustomReference.named(name)


@pytest.mark.parametrize(
    ("function", "message"),
    [
        ("no_pair", "'my_robot:no_pair' answered with ndarray"),
        ("negative", "'my_robot:negative' gave a scale that is not positive at 2 of 2"),
        ("fails", r"'my_robot:fails' failed on observations of shape \(2, 3\): KeyError: 'joint'"),
    ],
)
def test_bad_functions_are_named(module, function, message):
    reference = CustomReference.named(f"my_robot:{function}")
    with pytest.raises(UserError, match=message):
        reference(np.ones((2, 3)))


def test_unknown_family_is_named():
    with pytest.raises(UserError, match="Did you mean 'laplace'"):
        CustomReference(lambda obs: (obs, obs), "a:b", "laplas")


def test_a_vanished_function_is_named(module):
    CustomReference.named("my_robot:policy").save(module / "reference.npz")
    (module / "my_robot.py").write_text("")
    sys.modules.pop("my_robot")
    with pytest.raises(UserError, match="Unknown function in module 'my_robot' 'policy'"):
        load_reference(module / "reference.npz", trusted="my_robot:policy")


@pytest.mark.parametrize("trusted", [None, "my_robot:negative", "gp"])
@pytest.mark.parametrize("wrap", [lambda r: r, lambda r: ConstantVarianceReference(r, 0.1)])
def test_a_file_never_imports_what_its_reader_did_not_name(module, trusted, wrap):
    wrap(CustomReference.named("my_robot:policy")).save(module / "reference.npz")
    sys.modules.pop("my_robot")
    with pytest.raises(UserError, match="--reference my_robot:policy"):
        load_reference(module / "reference.npz", trusted=trusted)
    assert "my_robot" not in sys.modules
