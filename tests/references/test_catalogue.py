from dataclasses import replace

import numpy as np
import pytest

from nppac.references import (
    REFERENCES,
    CustomReference,
    GPConfig,
    MixedReference,
    checked_answer,
    fit_reference,
    fit_steps,
)
from nppac.utils.errors import UserError
from references import small

GP = GPConfig(kernel="rbf", max_steps=2, fit_points=30)
NETWORK = replace(small.CONFIG, max_epochs=2)
KINDS = {
    "gp": "gp",
    "network": "network",
    "network-entropy": "network",
    "network-tikhonov": "network",
    "laplace": "network",
    "ensemble": "ensemble",
    "dropout": "dropout",
    "constant": "constant_variance",
    "constant-0.005": "constant_variance",
    "constant-0.001": "constant_variance",
    "uniform": "uniform",
}


def fit(name, **options):
    obs, actions = small.make_data()
    return fit_reference(name, obs, actions, gp=GP, network=NETWORK, **options)


@pytest.mark.parametrize("name", [*REFERENCES, "mixed:constant+network"])
def test_every_reference_fits_saves_and_counts_its_progress(name, tmp_path):
    obs, actions = small.make_data()
    seen = [0]
    reference = fit(name, advance=lambda done, status="": seen.append(done))
    assert reference.summary()["kind"] == KINDS.get(name, "mixed")
    assert checked_answer(reference(obs), len(obs)).loc.shape == actions.shape
    small.assert_round_trips(reference, obs, tmp_path)
    assert seen == sorted(seen)
    assert seen[-1] == fit_steps(name, GP, NETWORK)


def test_catalogue_is_the_papers():
    assert set(REFERENCES) == set(KINDS)
    assert all(entry.description.endswith(".") for entry in REFERENCES.values())


def test_names_carry_their_settings():
    assert fit("network-entropy").summary()["entropy_bonus"] == "tuned"
    assert fit("network-tikhonov").summary()["tikhonov"] == 1e-3
    assert fit("laplace").family == "laplace"
    assert fit("constant").summary()["variance"] == 1e-2
    assert fit("constant-0.005").summary()["variance"] == 5e-3
    assert fit("constant-0.001").summary()["variance"] == 1e-3
    assert fit("dropout").summary()["tikhonov"] == 5e-7
    assert fit("dropout").summary()["passes"] == 20
    assert len(fit("ensemble").summary()["hidden"]) == 2
    assert fit("ensemble").summary()["size"] == 15


def test_the_users_own_settings_win():
    obs, actions = small.make_data()
    config = replace(NETWORK, entropy_bonus=0.5)
    reference = fit_reference("network-entropy", obs, actions, network=config)
    assert reference.summary()["entropy_bonus"] == 0.5


def test_seed_is_the_fits():
    obs, _ = small.make_data()
    first, other, again = (fit("network", seed=seed) for seed in (3, 4, 3))
    np.testing.assert_array_equal(first(obs).loc, again(obs).loc)
    assert (first(obs).loc != other(obs).loc).any()
    own = fit_reference("network", *small.make_data(), seed=4, network=replace(NETWORK, seed=3))
    np.testing.assert_array_equal(first(obs).loc, own(obs).loc)


def test_mixed_takes_mean_then_scale():
    obs, _ = small.make_data()
    mixed = fit("mixed:uniform+network")
    assert isinstance(mixed, MixedReference)
    np.testing.assert_array_equal(mixed(obs).loc, 0.0)
    np.testing.assert_array_equal(mixed(obs).scale, fit("network")(obs).scale)


def test_functions_are_references():
    reference = fit("tests.references.test_catalogue:policy")
    assert isinstance(reference, CustomReference)
    assert fit_steps("tests.references.test_catalogue:policy") == 0


def policy(obs):
    return obs[:, :2], np.ones((len(obs), 2))


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("netwrk", "Did you mean 'network'"),
        ("mixed:gp", "Write mixed:MEAN"),
        ("mixed:gp+network+gp", "Write mixed:MEAN"),
        ("mixed:gp+netwrk", "Did you mean 'network'"),
    ],
)
def test_unknown_names_are_named(name, message):
    with pytest.raises(UserError, match=message):
        fit(name)
