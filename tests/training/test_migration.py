import json
from pathlib import Path

import jax
import pytest

from nppac.training.config import config_from, read_config, to_json
from nppac.training.migration import KL_METHODS, VERSION, migrate
from nppac.training.state_arrays import SINCE_FORMAT_1
from nppac.utils.errors import UserError

RESULTS = Path(__file__).parents[2] / "results"
RECORDS = sorted(path.parent.relative_to(RESULTS) for path in RESULTS.rglob("config.json"))

COMMON = {"policy", "critic", "policy_optimiser", "critic_optimiser"}
KL = COMMON | {"target_critic", "log_temperature", "temperature_optimiser"}
STATES = {
    **dict.fromkeys(KL_METHODS, KL),
    "awac": COMMON | {"target_critic"},
    "bear": COMMON
    | {"target_critic", "cvae", "cvae_optimiser", "log_multiplier", "multiplier_optimiser"}
    | {"updates"},
    "abm": KL | {"prior", "prior_optimiser"},
    "awr": COMMON | {"scaling"},
    "dapg": COMMON | {"scaling", "action_scaling", "iteration"},
}
"""What the names of a checkpoint's arrays begin with, since version 1."""


@pytest.mark.parametrize("record", RECORDS, ids=str)
def test_every_record_of_the_project_is_read(record):
    config = read_config(RESULTS / record)
    stored = json.loads((RESULTS / record / "config.json").read_text())
    assert config.schedule.steps == stored["schedule"]["steps"]
    assert config.method == stored["method"]
    if "smoothing" in stored["agent"]:
        assert config.agent.tau == stored["agent"]["smoothing"]
    if "entropy_target" in stored["agent"]:  # its sign changed with the names
        sign = -1.0 if "smoothing" in stored["agent"] else 1.0
        assert config.agent.entropy_target == sign * stored["agent"]["entropy_target"]
    factor = stored["gp"].get("stretch", stored["gp"].get("lengthscale_multiplier", 1.0))
    assert config.gp.lengthscale_multiplier == factor
    again = to_json(config)
    assert config_from(again, "again") == config


def test_there_are_records():
    assert len(RECORDS) > 100


def agent(method, **values):
    return migrate({"method": method, "agent": values})["agent"]


def test_a_name_that_still_means_itself_elsewhere_is_kept_there():
    assert agent("rlpd", critic_updates=8) == {"utd_ratio": 8}
    assert agent("awr", critic_updates=8) == {"critic_updates": 8}
    assert agent("dapg", critic_updates=8, trace=0.9, clone_learning_rate=1.0) == {
        "critic_updates": 8,
        "gae_lambda": 0.9,
        "pretrain_learning_rate": 1.0,
    }


def test_entropies_change_their_sign():
    assert agent("sac", entropy_target=0.5) == {"entropy_target": -0.5}
    values = {"version": 1, "network": {"entropy_target": None}}
    assert config_from(migrate(values), "old").network.entropy_target == -1.0
    with pytest.raises(UserError, match=r"'network\.entropy_target' of version 1 is a sum"):
        migrate({"network": {"entropy_target": -24.0}})


def test_what_is_of_this_version_is_left_alone():
    config = {"version": VERSION, "agent": {"entropy_target": -0.5}, "gp": {"stretch": 1}}
    assert migrate(config) == config


def test_an_old_name_beside_its_new_one_is_a_mistake():
    with pytest.raises(UserError, match=r"FILE gives 'tau' twice: its older name is 'smoothing'"):
        migrate({"agent": {"tau": 0.1, "smoothing": 0.2}}, "FILE")


@pytest.mark.parametrize("method", STATES)
def test_checkpoints_of_version_1_have_the_names_that_are_read_today(method):
    config = config_from({"method": method}, "defaults")
    state = jax.eval_shape(lambda key: config.agent.init(key, 3, 2), jax.random.key(0))
    since = {name.removeprefix(".") for name in SINCE_FORMAT_1}  # these have a value without a file
    assert set(state._fields) - since == STATES[method]
