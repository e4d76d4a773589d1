import json
from itertools import product
from typing import get_args

import pytest

from nppac.agents.common.paper_settings import PAPER
from nppac.agents.kl_actor_critic import KLActorCritic
from nppac.agents.registry import METHODS
from nppac.agents.schedule import Schedule
from nppac.training.config import RunConfig, read_config, to_json
from nppac.training.presets import Preset, preset
from nppac.utils.errors import UserError
from nppac.utils.provenance import provenance
from toy_task import make_config


def store(directory, config):
    (directory / "config.json").write_text(json.dumps(config))


@pytest.mark.parametrize(
    "config",
    [
        *(
            preset(task, method, name)
            for task, method, name in product([*PAPER, "Hopper-v5"], METHODS, get_args(Preset))
        ),
        RunConfig(
            demos="a b.npz",
            demo_episodes=3,
            agent=KLActorCritic(policy_hidden=(), target_kl=2.5, kl="closed"),
            schedule=Schedule(updates_per_step=0.5),
        ),
    ],
    ids=lambda config: f"{config.task}-{config.method}-{config.schedule.steps}",
)
def test_a_configuration_comes_back_from_its_file(tmp_path, config):
    store(tmp_path, {**to_json(config), "provenance": provenance()})
    found = read_config(tmp_path)
    assert found == config
    assert hash(found.agent) == hash(config.agent)  # lists would not be hashable


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"sede": 1}, r"config\.json has settings that this version does not know: sede\."),
        ({"agent": {"hed": 1, "a": 2}}, r"'agent' has settings .* does not know: a, hed\."),
        ({"seed": "one"}, r"'seed' is 'one'; expected int"),
        ({"agent": {"discount": "x"}}, r"'agent': 'discount' is 'x'; expected float"),
        ({"gp": {"kernel": "rbff"}}, r"Unknown kernel 'rbff'\. Did you mean 'rbf'"),
        ({"schedule": {"steps": 7}}, r"'steps' is 7"),
    ],
)
def test_a_setting_that_is_not_one_is_named(tmp_path, change, message):
    stored = to_json(make_config())
    for name, value in change.items():
        stored[name] = {**stored[name], **value} if isinstance(value, dict) else value
    store(tmp_path, stored)
    with pytest.raises(UserError, match=message):
        read_config(tmp_path)


def test_a_directory_that_is_no_run_is_named(tmp_path):
    with pytest.raises(UserError, match=r"no run directory .*absent"):
        read_config(tmp_path / "absent")
    with pytest.raises(UserError, match=r"not the directory of a run: it has no config\.json"):
        read_config(tmp_path)
    store(tmp_path, ["a list"])
    with pytest.raises(UserError, match="does not hold the configuration"):
        read_config(tmp_path)


def test_settings_of_an_older_version_take_their_defaults(tmp_path):
    store(tmp_path, {"task": "pen", "agent": {"head": "normal"}})
    assert read_config(tmp_path) == RunConfig(task="pen", agent=KLActorCritic(head="normal"))
