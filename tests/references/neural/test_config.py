import dataclasses
import json

import pytest

from nppac.references import NetworkConfig
from nppac.utils.errors import UserError


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("family", "laplac", "Did you mean 'laplace'"),
        ("entropy_bonus", "tune", "Did you mean 'tuned'"),
        ("entropy_bonus", -1.0, "entropy_bonus is -1.0"),
        ("learning_rate", 0.0, "learning_rate is 0.0"),
        ("batch_size", 0, "batch_size is 0"),
        ("variance_floor", -1e-3, "variance_floor"),
        ("tikhonov", float("nan"), "tikhonov"),
        ("hidden", (8, 0), "hidden"),
        ("validation_fraction", 1.0, "between 0 and 1"),
    ],
)
def test_bad_settings_are_named(field, value, message):
    with pytest.raises(UserError, match=message):
        NetworkConfig(**{field: value})


def test_seeds_share_a_program():
    assert NetworkConfig(seed=1, patience=7).compiled() == NetworkConfig(seed=2).compiled()
    assert NetworkConfig(tikhonov=0.1).compiled() != NetworkConfig().compiled()


def test_survives_json():
    config = NetworkConfig(hidden=(4, 5), entropy_bonus="tuned")
    fields = json.loads(json.dumps(dataclasses.asdict(config)))
    assert NetworkConfig.from_json(fields) == config


def test_without_a_floor_the_variance_stays_positive():
    assert NetworkConfig().floor == 1e-2
    assert 0.0 < NetworkConfig(variance_floor=0.0).floor < 1e-6
