import sys

import numpy as np
import pytest

from nppac.references import (
    ConstantVarianceReference,
    CustomReference,
    custom_config_class,
    fit_named_reference,
    fit_steps,
    given_reference,
    load_reference,
)
from nppac.utils.errors import UserError

MODULE = """
from dataclasses import dataclass
from pickle import loads

import numpy as np

from nppac.references import Reference, ReferenceConfig, UniformReference
from nppac.types import ReferenceStats
from nppac.utils.files import write_json

numbers = 3

def policy(obs):
    return 0.5 * obs[:, :2], np.full((len(obs), 2), 0.3)

def no_pair(obs):
    return obs

def negative(obs):
    return obs, -np.ones_like(obs)

def fails(obs):
    raise KeyError("joint")

class Nearest(Reference):
    kind, family = "my_nearest", "normal"

    def __init__(self, actions, scale):
        self.actions, self.scale = actions, scale

    def __call__(self, obs):
        loc = self.mean(obs)
        return ReferenceStats(loc, np.full_like(loc, self.scale))

    def mean(self, obs):
        return np.repeat(self.actions[:1], len(obs), 0).astype(np.float32)

    def arrays(self):
        return {"actions": self.actions, "scale": np.asarray(self.scale)}

    @classmethod
    def from_arrays(cls, arrays):
        return cls(arrays["actions"], float(arrays["scale"]))

    def summary(self):
        return {"kind": self.kind, "scale": self.scale}

@dataclass(frozen=True)
class NearestConfig(ReferenceConfig):
    scale: float = 0.25
    rounds: int = 3

    def fit(self, obs, actions, advance):
        for done in range(self.rounds):
            advance(done + 1)
        return Nearest(actions, self.scale)

    @property
    def steps(self):
        return self.rounds

@dataclass(frozen=True)
class NoReference(ReferenceConfig):
    def fit(self, obs, actions, advance):
        return obs

@dataclass(frozen=True)
class Boxed(ReferenceConfig):
    def fit(self, obs, actions, advance):
        return UniformReference(actions.shape[1])

@dataclass(frozen=True)
class Fails(ReferenceConfig):
    size: int

    def fit(self, obs, actions, advance):
        raise KeyError("joint")

class Still(UniformReference):
    def __init__(self):
        super().__init__(2)

box = UniformReference(2)
"""
OBS, ACTIONS = np.arange(6.0).reshape(2, 3), np.array([[0.5, -0.5], [0.1, 0.2]])


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
        ("my_robot:loads", "is a builtin_function_or_method, not a function"),
        ("my_robot:write_json", "is defined in the module 'nppac.utils.files'"),
        ("my_robot:NearestConfig", "must be fitted first"),
        ("pickle:loads", "Python's standard library"),
        ("pickle:_loads", "Python's standard library"),
        ("os.path:exists", "Python's standard library"),
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


def test_settings_of_ones_own_are_fitted_and_saved_whole(module):
    name, seen = "my_robot:NearestConfig", []
    kind = custom_config_class(name)
    assert given_reference(name) is None
    config = kind(scale=0.5, rounds=4)
    assert (fit_steps(name), fit_steps(name, custom=config)) == (3, 4)
    advance = lambda done, status="": seen.append(done)  # noqa: E731
    reference = fit_named_reference(name, OBS, ACTIONS, custom=config, advance=advance)
    assert seen == [1, 2, 3, 4]
    np.testing.assert_allclose(reference(OBS).loc, [[0.5, -0.5], [0.5, -0.5]])
    np.testing.assert_allclose(reference(OBS).scale, 0.5)
    reference.save(module / "reference.npz")
    loaded = load_reference(module / "reference.npz", trusted=name)
    assert isinstance(loaded, CustomReference)
    assert loaded.summary() == reference.summary()
    assert loaded.summary()["fitted"] == {"kind": "my_nearest", "scale": 0.5}
    np.testing.assert_array_equal(loaded.mean(OBS), reference.mean(OBS))
    sys.modules.pop("my_robot")
    with pytest.raises(UserError, match="--reference my_robot:NearestConfig"):
        load_reference(module / "reference.npz")
    assert "my_robot" not in sys.modules


def test_defaults_are_the_settings_where_none_are_given(module):
    reference = fit_named_reference("my_robot:NearestConfig", OBS, ACTIONS)
    np.testing.assert_allclose(reference(OBS).scale, 0.25)
    assert custom_config_class("my_robot:policy") is None


@pytest.mark.parametrize("name", ["my_robot:box", "my_robot:Still", "my_robot:Boxed"])
def test_references_of_ones_own(module, name):
    reference = fit_named_reference(name, OBS, ACTIONS)
    assert reference.family == "uniform"
    np.testing.assert_array_equal(reference(OBS).scale, np.ones((2, 2)))
    reference.save(module / "reference.npz")
    assert load_reference(module / "reference.npz", trusted=name).family == "uniform"


@pytest.mark.parametrize(
    ("name", "custom", "message"),
    [
        ("my_robot:NearestConfig", 3, "are int; give my_robot:NearestConfig"),
        ("my_robot:policy", 3, "takes no settings"),
        ("my_robot:NoReference", None, "returned ndarray; it must return an instance"),
        ("my_robot:Fails", None, "have no defaults: TypeError"),
        ("my_robot:Nearest", None, "cannot be made without settings: TypeError"),
    ],
)
def test_bad_settings_and_fits_are_named(module, name, custom, message):
    with pytest.raises(UserError, match=message):
        fit_named_reference(name, OBS, ACTIONS, custom=custom)


def test_a_fit_that_fails_is_named(module):
    config = custom_config_class("my_robot:Fails")(2)
    with pytest.raises(UserError, match="The fit of 'my_robot:Fails' failed: KeyError: 'joint'"):
        fit_named_reference("my_robot:Fails", OBS, ACTIONS, custom=config)
