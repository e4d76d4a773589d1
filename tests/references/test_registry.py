from dataclasses import replace

import numpy as np
import pytest

from nppac.references import (
    REFERENCES,
    GPConfig,
    ReferenceKind,
    UniformReference,
    checked_answer,
    fit_named_reference,
    fit_steps,
    register_loader,
    register_reference,
)
from nppac.references.registry import get_kind, reference_from_arrays
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
    "auto": "gp",
}


def fit(name, **options):
    obs, actions = small.make_data()
    return fit_named_reference(name, obs, actions, **{"gp": GP, "network": NETWORK, **options})


def test_the_papers_references_are_registered_in_order():
    assert list(REFERENCES) == list(KINDS)
    assert all(kind.name == name for name, kind in REFERENCES.items())
    assert all(kind.description.endswith(".") for kind in REFERENCES.values())


@pytest.mark.parametrize("name", [*KINDS, "mixed:constant+network"])
def test_every_reference_fits_saves_and_counts_its_progress(name, tmp_path):
    obs, actions = small.make_data()
    seen = [0]
    reference = fit(name, advance=lambda done, status="": seen.append(done))
    assert reference.summary()["kind"] == reference.kind == KINDS.get(name, "mixed")
    assert checked_answer(reference(obs), len(obs)).loc.shape == actions.shape
    small.assert_round_trips(reference, obs, tmp_path)
    assert seen == sorted(seen)
    assert seen[-1] == fit_steps(name, GP, NETWORK)


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
    assert fit("ensemble").summary()["tikhonov"] == 5e-7


@pytest.mark.parametrize(
    ("name", "setting", "value"),
    [
        ("network-entropy", "entropy_bonus", 0.5),
        ("network-entropy", "entropy_bonus", 0.0),
        ("network-tikhonov", "tikhonov", 0.0),
        ("dropout", "tikhonov", 0.0),
        ("laplace", "family", "normal"),
    ],
)
def test_explicit_settings_win(name, setting, value):
    reference = fit(name, network=replace(NETWORK, **{setting: value}))
    assert reference.summary()[setting] == value


def test_a_reference_registers_itself(monkeypatch):
    class Mine(UniformReference):
        kind = "mine"

    monkeypatch.setattr("nppac.references.registry.LOADERS", {})
    monkeypatch.setitem(REFERENCES, "mine", None)
    del REFERENCES["mine"]
    kind = ReferenceKind(
        "mine", "My own.", lambda obs, actions, settings, advance: Mine(2), lambda settings: 3
    )
    register_reference(kind)
    register_loader(Mine)
    assert isinstance(fit("mine"), Mine)
    assert fit_steps("mine") == 3
    assert isinstance(reference_from_arrays({"kind": np.asarray("mine"), **Mine(2).arrays()}), Mine)
    with pytest.raises(AssertionError, match="two references are called 'mine'"):
        register_reference(kind)


def test_unknown_names_are_named():
    with pytest.raises(UserError, match="Did you mean 'network'"):
        get_kind("netwrk")
    with pytest.raises(UserError, match="Did you mean 'uniform'"):
        reference_from_arrays({"kind": np.asarray("uniforme")})
