import json

import pytest

from nppac.references import NetworkConfig, migrate_network_settings
from nppac.references.neural.config import resolve
from nppac.utils.errors import UserError
from nppac.utils.settings import plain_settings, read_settings


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("family", "laplac", "'family' is 'laplac'"),
        ("entropy_bonus", "tune", "entropy_bonus.*'tune'"),
        ("entropy_bonus", -1.0, "entropy_bonus.*-1.0; it must be at least 0"),
        ("learning_rate", 0.0, "'learning_rate' is 0.0; it must be greater than 0"),
        ("batch_size", 0, "'batch_size' is 0"),
        ("variance_floor", -1e-3, "variance_floor"),
        ("tikhonov", float("nan"), "'tikhonov' is nan"),
        ("hidden", (8, 0), "hidden"),
        ("validation_fraction", 1.0, "'validation_fraction' is 1.0; it must be less than 1"),
    ],
)
def test_bad_settings_are_named(field, value, message):
    with pytest.raises(UserError, match=message):
        NetworkConfig(**{field: value})


def test_seeds_share_a_program():
    assert NetworkConfig(seed=1, patience=7).objective == NetworkConfig(seed=2).objective
    assert NetworkConfig(tikhonov=0.1).objective != NetworkConfig().objective


def test_defaults_fill_only_what_was_left_out():
    kinds = {"tikhonov": 1e-3, "family": "laplace", "entropy_bonus": "tuned"}
    filled = resolve(NetworkConfig(), kinds)
    assert (filled.tikhonov, filled.family, filled.entropy_bonus) == (1e-3, "laplace", "tuned")
    explicit = NetworkConfig(tikhonov=0.0, family="normal", entropy_bonus=0.0)
    assert resolve(explicit, kinds) == explicit
    assert resolve(NetworkConfig(), {}) == explicit


def test_objective_has_every_default():
    objective = NetworkConfig().objective
    assert (objective.family, objective.bonus, objective.tikhonov) == ("normal", 0.0, 0.0)
    tuned = NetworkConfig(entropy_bonus="tuned").objective
    assert (tuned.tuned, tuned.bonus) == (True, 1.0)


def test_survives_json():
    config = NetworkConfig(hidden=(4, 5), entropy_bonus="tuned", tikhonov=0.0)
    fields = migrate_network_settings(json.loads(json.dumps(plain_settings(config))))
    assert read_settings(NetworkConfig, fields, "here") == config


def test_zeros_of_before_meant_nothing():
    old = {"tikhonov": 0.0, "family": "normal", "entropy_bonus": 0, "entropy_target": None}
    assert migrate_network_settings(old) == dict.fromkeys(("tikhonov", "family", "entropy_bonus"))
    chosen = {"tikhonov": 0.1, "family": "laplace", "entropy_bonus": "tuned"}
    assert migrate_network_settings({**chosen, "entropy_target": -2.0, "seed": 3}) == {
        **chosen,
        "entropy_target": -2.0,
        "seed": 3,
    }


def test_without_a_floor_the_variance_stays_positive():
    assert NetworkConfig().floor == 1e-2
    assert 0.0 < NetworkConfig(variance_floor=0.0).floor < 1e-6
