"""Settings that no machine could follow end in one line, before anything is allocated."""

import json
import shutil
from dataclasses import fields, replace
from typing import get_args

import numpy as np
import pytest

from nppac.agents.kl_actor_critic import KLActorCritic
from nppac.agents.registry import METHODS
from nppac.agents.schedule import Schedule
from nppac.cli import main
from nppac.deploy.config import DistillConfig
from nppac.references import GPConfig, NetworkConfig
from nppac.references.neural.network import fit_network
from nppac.training.memory import check_data_memory, reported_by
from nppac.training.runs import start_run
from nppac.utils.errors import UserError
from nppac.utils.settings import read_settings
from toy_task import AGENT, SCHEDULE, make_config, write_demos

CLASSES = {method.agent for method in METHODS.values()}
CLASSES |= {Schedule, GPConfig, NetworkConfig, DistillConfig}


def kinds(annotation):
    """The plain types that an annotation is made of."""
    inner = [kind for part in get_args(annotation) for kind in kinds(part)]
    return [annotation, *inner] if isinstance(annotation, type) else inner


@pytest.mark.parametrize("kind", sorted(CLASSES, key=lambda kind: kind.__name__))
def test_every_number_of_every_setting_has_an_upper_bound(kind):
    numbers = [field for field in fields(kind) if {int, float} & {*kinds(field.type)}]
    assert numbers
    for field in numbers:
        value = [1e300] if isinstance(field.default, tuple) else 1e300
        with pytest.raises(UserError, match=rf"'{field.name}(\.0)?' is .*; it must be (at|less)"):
            read_settings(kind, {field.name: value}, "FILE")


def test_a_list_of_layers_is_bounded():
    with pytest.raises(UserError, match=r"'policy_hidden' is .* it must have at most 20 entries"):
        KLActorCritic(policy_hidden=(8,) * 21)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            {"replay_capacity": 10**9, "steps": 10**10},
            "A replay of 1,000,000,000 transitions",
        ),
        ({"pretrain_copies": 10**6, "pretrain_epochs": 1}, "1,000,000 copies of 90,000 states"),
    ],
)
def test_data_that_the_machine_cannot_hold_are_refused(settings, message):
    with pytest.raises(UserError, match=f"{message}.* GB of memory, and this machine can spare"):
        check_data_memory(Schedule(**settings), 39, 28, 90_000)


def test_a_replay_is_no_larger_than_the_run_is_long():
    check_data_memory(Schedule(replay_capacity=10**9, steps=10_000), 39, 28, 0)


@pytest.mark.parametrize(
    ("agent", "batch_size", "message"),
    [
        ({"policy_hidden": (2**16,) * 20}, 16, "The agent, with its optimisers, takes"),
        ({"policy_hidden": (2**16,)}, 10**6, "One array of an update takes 262.1 GB"),
    ],
)
def test_an_update_that_the_machine_cannot_hold_is_refused(agent, batch_size, message):
    schedule = replace(SCHEDULE, batch_size=batch_size)
    with pytest.raises(UserError, match=message):
        reported_by(replace(AGENT, **agent), schedule, 3, 2, "normal")


def test_networks_that_the_machine_cannot_hold_are_not_fitted():
    with pytest.raises(UserError, match=r"To fit 1 network\(s\) takes"):
        fit_network(np.eye(4), np.eye(4), NetworkConfig(hidden=(2**16,) * 20))


HOSTILE = {
    "policy_hidden": ("agent", [2**40]),
    "num_qs": ("agent", 1e9),
    "kl_samples": ("agent", 1e9),
    "steps": ("schedule", 1e300),
    "eval_envs": ("schedule", 1e9),
    "eval_episodes": ("schedule", 1e9),
    "batch_size": ("schedule", 1e15),
    "replay_capacity": ("schedule", 1e15),
    "pretrain_copies": ("schedule", 1e15),
    "updates_per_step": ("schedule", 1e300),
    "challenges": ("schedule", 1e9),
    "neighbours": ("gp", 2**40),
    "members": ("network", 2**40),
}
"""Settings of a run's file, where they stand, and what a stranger may write there."""


@pytest.fixture(scope="module")
def short_run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("hostile")
    demos = str(write_demos(folder / "demos.npz"))
    start_run(make_config(demos=demos, schedule=replace(SCHEDULE, steps=20)), folder / "run")
    return folder / "run"


@pytest.mark.parametrize("command", ["resume", "evaluate", "distill"])
def test_a_run_from_elsewhere_with_a_huge_setting_is_one_line(tmp_path, short_run, command, capsys):
    shutil.copytree(short_run, tmp_path / "run")
    path = tmp_path / "run" / "config.json"
    stored = json.loads(path.read_text())
    for name, (part, value) in HOSTILE.items():
        path.write_text(json.dumps({**stored, part: {**stored[part], name: value}}))
        with pytest.raises(SystemExit) as stop:
            main([command, str(tmp_path / "run")])
        out, err = capsys.readouterr()
        assert (stop.value.code, out, err.count("\n")) == (1, "", 1)
        assert name in err
        assert "; it must be at most" in err
