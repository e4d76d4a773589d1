from dataclasses import replace

import numpy as np
import pytest

from nppac.agents.kl_actor_critic import KLActorCritic
from nppac.agents.registry import METHODS, Method, get_method, register_method
from nppac.evaluation.metrics import load_metrics
from nppac.training.config import read_config
from nppac.training.presets import preset
from nppac.training.restore import load_run_policy
from nppac.training.runs import resume_run, start_run
from nppac.utils.errors import UserError
from toy_task import GP, SCHEDULE, TASK, write_demos

LINEAR_CLONING = '''
from dataclasses import dataclass

import jax
import jax.numpy as jnp

from nppac.agents.base import BatchSpec


@dataclass(frozen=True)
class LinearCloning:
    """Behaviour cloning of the demonstrations with a linear policy a = s W."""

    learning_rate: float = 0.1
    anchored = False

    def init(self, key, obs_dim, action_dim):
        return jnp.zeros((obs_dim, action_dim))

    def batch_spec(self, batch_size):
        return BatchSpec(batch_size, demonstrated=batch_size)

    def update(self, state, batch, key, family):
        half = len(batch.obs) // 2
        return self._step(state, batch.obs[half:], batch.action[half:])

    def pretrain_step(self, state, demo_batch, key, family):
        state, info = self._step(state, demo_batch.obs, demo_batch.action)
        return state, {"pretrain_loss": info["policy_loss"]}

    def _step(self, state, obs, action):
        loss = lambda w: jnp.mean((obs @ w - action) ** 2)
        value, gradient = jax.value_and_grad(loss)(state)
        return state - self.learning_rate * gradient, {"policy_loss": value}

    def sample(self, state, obs, reference, key):
        return obs @ state

    def mode(self, state, obs, reference):
        return obs @ state
'''


def write_module(directory, monkeypatch, name, text=LINEAR_CLONING):
    """A module of the user's own in the working directory."""
    (directory / f"{name}.py").write_text(text)
    monkeypatch.chdir(directory)


def test_the_built_in_methods_in_the_order_of_their_list():
    assert list(METHODS) == [
        *("nppac", "nppac-anchored", "brac", "sac", "sacfd", "sac-bc", "rlpd"),
        *("awac", "bear", "abm", "awr", "dapg"),
    ]


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("task", ["door", "halfcheetah", "Hopper-v5"])
def test_a_method_says_the_truth_about_its_recipe(name, task):
    method = METHODS[name]
    for which in ("default", "paper"):
        recipe = method.recipe(task, which)
        assert type(recipe.agent) is method.agent
        assert recipe.reference.rpartition("+")[-1] == method.reference
        shown = recipe.schedule.demos_in_replay or getattr(recipe.agent, "offline_ratio", 0)
        assert bool(shown) == (method.needs in ("rewards", "episodes"))


def test_a_name_stands_for_one_method_only():
    register_method(METHODS["sac"])  # the same one again
    with pytest.raises(UserError, match="'sac' is registered already"):
        register_method(replace(METHODS["sac"], summary="Another."))
    assert METHODS["sac"].summary != "Another."


def test_a_run_with_a_method_of_the_working_directory(tmp_path, monkeypatch):
    write_module(tmp_path, monkeypatch, "own_method")
    config = preset(TASK, "own_method:LinearCloning")
    assert (config.method, config.reference) == ("own_method:LinearCloning", "gp")
    assert config.schedule == preset(TASK, "nppac").schedule
    config = replace(
        config,
        demos=str(write_demos(tmp_path / "demos.npz")),
        schedule=replace(SCHEDULE, pretrain_epochs=1),
        gp=GP,
    )
    start_run(config, tmp_path / "run")
    resume_run(tmp_path / "run", steps=120)
    assert read_config(tmp_path / "run").agent == config.agent
    losses = load_metrics(tmp_path / "run" / "metrics.csv")["policy_loss"]
    assert losses[-1] < 0.5 * losses[np.isfinite(losses)][0]
    _, act = load_run_policy(tmp_path / "run")
    towards = act(np.float32([[0.5, -0.5, 0.0]]))[0]
    assert towards[0] < -0.2 < 0.2 < towards[1]  # it learned to go to the origin


def test_attributes_of_the_class_say_what_it_needs(tmp_path, monkeypatch):
    lines = '    needs = "nothing"\n    summary = "Mine."\n    anchored = False'
    text = LINEAR_CLONING.replace("    anchored = False", lines)
    write_module(tmp_path, monkeypatch, "own_needs", text)
    method = get_method("own_needs:LinearCloning")
    assert (method.needs, method.reference, method.summary) == ("nothing", "uniform", "Mine.")
    schedule = method.recipe("door", "paper").schedule
    assert (schedule.pretrain_epochs, schedule.steps) == (0, 100_000)


def test_a_method_object_or_a_registered_name_of_a_module(tmp_path, monkeypatch):
    text = """
from dataclasses import replace
from nppac.agents.registry import METHODS, register_method

mine = replace(METHODS["sac"], name="my-sac", summary="Mine.")
register_method(mine)
"""
    write_module(tmp_path, monkeypatch, "own_object", text)
    for name in ("own_object:mine", "own_object:my-sac"):
        method = get_method(name)
        assert isinstance(method, Method)
        assert (method.name, method.summary, method.agent) == (name, "Mine.", KLActorCritic)
    assert get_method("my-sac").summary == "Mine."
    METHODS.pop("my-sac")


WRONG = """
from dataclasses import dataclass

number = 3

class NoDataclass: ...

@dataclass(frozen=True)
class NeedsSetting:
    size: int

@dataclass
class NotFrozen: ...

@dataclass(frozen=True)
class Empty:
    anchored = False
    def init(self, key, obs_dim, action_dim): ...

@dataclass(frozen=True)
class BadNeeds:
    needs = "reward"
"""


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("nppca", r"Unknown method 'nppca'\. Did you mean 'nppac'\?"),
        ("absent_module:Agent", "Cannot import the module 'absent_module' of the method"),
        ("own_wrong:Emty", r"Unknown agent of the module 'own_wrong' 'Emty'\. Did you mean 'Empty"),
        ("own_wrong:number", "must be an agent class or a Method; 'number' .* is 3"),
        ("own_wrong:NoDataclass", r"must be a frozen dataclass .* add @dataclass\(frozen=True\)"),
        ("own_wrong:NeedsSetting", "cannot be made with its defaults: .*'size'"),
        ("own_wrong:NotFrozen", "cannot be made with its defaults: unhashable"),
        ("own_wrong:Empty", "lacks batch_spec, mode, pretrain_step, sample, update"),
        ("own_wrong:BadNeeds", "Unknown value of 'BadNeeds.needs' 'reward'. Did you mean 'rewards"),
    ],
)
def test_what_is_no_method_is_refused(name, message, tmp_path, monkeypatch):
    write_module(tmp_path, monkeypatch, "own_wrong", WRONG)
    with pytest.raises(UserError, match=message):
        get_method(name)
