import json
from itertools import product
from typing import get_args

import pytest

from nppac.agents.common.paper_settings import PAPER
from nppac.agents.kl_actor_critic import KLActorCritic
from nppac.agents.registry import METHODS
from nppac.agents.schedule import Schedule
from nppac.training.config import RunConfig, read_config, to_json
from nppac.training.migration import VERSION
from nppac.training.presets import Preset, preset
from nppac.utils.errors import UserError
from nppac.utils.provenance import provenance


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


DEEP = '{"agent": ' + "[" * 100_000 + "]" * 100_000 + "}"
HUGE = "1" + "0" * 400

HOSTILE = {
    '{"sede": 1}': r"Unknown setting 'sede'\. Did you mean 'seed'\?",
    '{"seed": "one"}': r"'seed' is 'one'; it must be a whole number\.",
    '{"seed": "1"}': r"'seed' is '1'; it must be a whole number\.",
    '{"seed": true}': r"'seed' is True; it must be a whole number\.",
    '{"seed": -1}': r"'seed' is -1; it must be at least 0\.",
    '{"seed": 1.5}': r"'seed' is 1\.5; it must be a whole number\.",
    f'{{"seed": {HUGE}}}': r"cannot be read as JSON: an integer of 401 digits",
    '{"task": 5}': r"'task' is 5; it must be a text\.",
    '{"method": "nppca"}': r"Unknown method 'nppca'\. Did you mean 'nppac'\?",
    '{"method": ["nppac"]}': r"'method' is \['nppac'\]; it must be a text\.",
    '{"demo_episodes": 0}': r"'demo_episodes' is 0; it must be at least 1\.",
    '{"schedule": {"stepps": 7}}': r"Unknown setting 'schedule\.stepps'\. Did you mean",
    '{"schedule": {"steps": 7}}': r"'steps' is 7; it must be a positive multiple",
    '{"schedule": {"steps": null}}': r"'schedule\.steps' is None; it must be a whole number\.",
    f'{{"schedule": {{"steps": {HUGE}}}}}': r"an integer of 401 digits",
    '{"schedule": {"updates_per_step": NaN}}': r"'schedule\.updates_per_step' is nan",
    '{"schedule": []}': r"'schedule' is \[\]; it must be an object with settings\.",
    '{"agent": {"hed": 1}}': r"'agent': Unknown setting 'hed'\. Did you mean 'head'\?",
    '{"agent": {"discount": "x"}}': r"'agent': 'discount' is 'x'; it must be a number\.",
    '{"agent": {"policy_hidden": [8, "x"]}}': r"'agent': 'policy_hidden\.1' is 'x'",
    '{"agent": 5}': r"'agent': It is 5; it must be an object with settings\.",
    '{"agent": null}': r"'agent': It is None; it must be an object with settings\.",
    '{"gp": {"kernel": "rbff"}}': r"'rbff'.* Did you mean 'rbf'\?",
    '{"custom": {"a": 1}}': r"'custom' is given, but 'gp' has no such settings\.",
    '{"version": "2"}': r"'version' is '2'; it must be a whole number\.",
    '{"version": 99}': r"is of version 99, and this nppac knows only up to",
    '["a list"]': r"does not hold the configuration of a run: expected an object\.",
    "5": r"does not hold the configuration of a run: expected an object\.",
    "": r"cannot be read as JSON",
    '{"seed": 1': r"cannot be read as JSON",
    DEEP: r"(nested too deeply|cannot be read as JSON)",
}
"""What a file may hold instead of a configuration, and what is said of it."""


@pytest.mark.parametrize("text", HOSTILE, ids=lambda text: text[:40])
def test_a_mistake_in_a_file_is_one_line_that_names_file_and_setting(tmp_path, text):
    (tmp_path / "config.json").write_text(text)
    with pytest.raises(UserError, match=HOSTILE[text]) as caught:
        read_config(tmp_path)
    said = str(caught.value)
    assert "\n" not in said
    assert len(said) < 600
    assert said.startswith(str(tmp_path / "config.json"))


def test_a_file_that_is_no_text_is_named(tmp_path):
    (tmp_path / "config.json").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(UserError, match=r"config\.json cannot be read as JSON"):
        read_config(tmp_path)


def test_whole_numbers_may_be_written_with_an_exponent(tmp_path):
    (tmp_path / "config.json").write_text('{"schedule": {"steps": 1e5}}')
    assert read_config(tmp_path).schedule.steps == 100_000


def test_the_file_says_its_version():
    assert to_json(RunConfig())["version"] == VERSION


def test_what_is_no_agent_is_refused():
    with pytest.raises(UserError, match="'agent' is a dict, which is no agent"):
        RunConfig(agent={})


def test_a_directory_that_is_no_run_is_named(tmp_path):
    with pytest.raises(UserError, match=r"no run directory .*absent"):
        read_config(tmp_path / "absent")
    with pytest.raises(UserError, match=r"not the directory of a run: it has no config\.json"):
        read_config(tmp_path)


def test_settings_of_an_older_version_take_their_defaults(tmp_path):
    store(tmp_path, {"task": "pen", "agent": {"head": "normal"}})
    assert read_config(tmp_path) == RunConfig(task="pen", agent=KLActorCritic(head="normal"))
