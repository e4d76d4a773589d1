import json
from dataclasses import replace

import numpy as np
import pytest

from nppac.references import NetworkReference, fit_network
from nppac.utils.errors import UserError
from references import small


def variance(reference, obs):
    stats = reference(obs)
    return (2.0 if reference.family == "laplace" else 1.0) * stats.scale**2


def test_learns_the_mean_and_the_noise():
    obs, actions = small.make_data()
    reference = fit_network(obs, actions, replace(small.CONFIG, max_epochs=60))
    loc, scale = reference(obs)
    assert loc.shape == scale.shape == actions.shape
    assert np.abs(loc[:, 0] - actions[:, 0]).mean() < 0.1
    np.testing.assert_allclose(scale[:, 1].mean(), 0.5, rtol=0.25)
    assert variance(reference, obs).min() >= 0.01 - 1e-6
    assert variance(reference, obs)[:, 0].mean() < 0.03


def test_early_stopping_keeps_the_best_of_both():
    obs, actions = small.make_data()
    config = replace(small.CONFIG, max_epochs=200, patience=3)
    report = fit_network(obs, actions, config).report
    last = max(report["best_epoch"], report["mean_best_epoch"])
    assert report["epochs"] == last + 3 < 200
    assert report["best_validation_nll"] == min(report["validation_nll"])
    assert report["mean_squared_error"] == min(report["mean_validation_error"])
    assert len(report["train_nll"]) == len(report["validation_nll"]) == report["epochs"]


def test_seeds_differ_and_repeat():
    obs, actions = small.make_data()
    first, again = (fit_network(obs, actions, small.CONFIG) for _ in range(2))
    other = fit_network(obs, actions, replace(small.CONFIG, seed=1))
    np.testing.assert_array_equal(first(obs).loc, again(obs).loc)
    assert np.abs(first(obs).loc - other(obs).loc).max() > 1e-3


def test_probe_records_the_variance_of_every_epoch():
    obs, actions = small.make_data()
    probe = obs[:7] + 100.0
    reference = fit_network(obs, actions, small.CONFIG, probe=probe)
    recorded = reference.report["probe_variance"]
    assert len(recorded) == reference.report["best_epoch"] == 4
    assert recorded[-1] == pytest.approx(variance(reference, probe).mean(), rel=1e-4)
    assert "probe_variance" not in reference.summary()


def test_entropy_bonus_raises_the_variance():
    obs, actions = small.make_data()
    config = replace(small.CONFIG, max_epochs=40)
    plain = fit_network(obs, actions, config)
    bonus = fit_network(obs, actions, replace(config, entropy_bonus=0.5))
    ratio = variance(bonus, obs)[:, 1].mean() / variance(plain, obs)[:, 1].mean()
    assert 1.5 < ratio < 3.0  # σ² = error² / (1 - β)


def test_tuned_bonus_vanishes_where_the_entropy_suffices():
    obs, actions = small.make_data()
    config = replace(small.CONFIG, max_epochs=40, entropy_bonus="tuned")
    report = fit_network(obs, actions, config).report
    assert 0.9 < report["bonus"][0] < 1.0
    assert report["final_bonus"] == 0.0


def test_the_mean_is_as_good_as_a_regressions():
    """A likelihood of both would not fit tanh where the noisy action's variance overfits first."""
    obs, actions = small.make_data()
    config = replace(small.CONFIG, max_epochs=60)
    plain = fit_network(obs, actions, config)
    errors = plain(obs).loc[:, 0] - np.tanh(obs[:, 0])
    assert np.mean(errors**2) < 0.01


def test_no_location_is_beyond_the_box_of_actions():
    obs, _ = small.make_data()
    reference = fit_network(obs, 0.9 * np.tanh(obs[:, :1]), small.CONFIG)
    far = np.linspace(-1e4, 1e4, 5)[:, None] * obs.std(0) + obs.mean(0)
    raw = reference.networks.mean(reference.units(far))
    assert np.abs(raw).max() > 1.0
    np.testing.assert_allclose(reference(far).loc, np.clip(raw, -1.0, 1.0), rtol=1e-5)


def test_files_of_one_network_for_both_still_load():
    obs, actions = small.make_data()
    reference = fit_network(obs, actions, replace(small.CONFIG, hidden=(8,)))
    arrays = old_arrays(reference)
    loaded = NetworkReference.from_arrays(arrays)
    assert loaded.config.entropy_target == -1.0
    x = np.maximum(reference.units(obs) @ arrays["weight_0"] + arrays["bias_0"], 0.0)
    outputs = x @ arrays["weight_1"] + arrays["bias_1"]
    loc = outputs[:, :2].clip(-1.0, 1.0)
    np.testing.assert_allclose(loaded(obs).loc, loc, rtol=1e-4, atol=1e-5)
    variance = np.log1p(np.exp(outputs[:, 2:])) + 0.01
    np.testing.assert_allclose(loaded(obs).scale ** 2, variance, rtol=1e-4)


def old_arrays(reference):
    """What a version without a network for the variance alone would have written."""
    rng = np.random.default_rng(0)
    arrays = {k: v for k, v in reference.arrays().items() if not k.startswith("variance_")}
    config = json.loads(str(arrays["config"]))
    del config["members"]
    config["entropy_target"] = None
    last = {"weight_1": rng.normal(size=(8, 4)), "bias_1": rng.normal(size=4)}
    last = {name: array.astype(np.float32) for name, array in last.items()}
    return {**arrays, **last, "config": np.asarray(json.dumps(config))}


def test_laplace_keeps_its_floor():
    obs, actions = small.make_data()
    reference = fit_network(obs, actions, replace(small.CONFIG, family="laplace", max_epochs=40))
    assert reference.family == "laplace"
    assert reference(obs).scale.min() >= 0.0707
    np.testing.assert_allclose(variance(reference, obs)[:, 1].mean(), 0.25, rtol=0.6)


def test_round_trips(tmp_path):
    obs, actions = small.make_data()
    reference = fit_network(obs, actions, small.CONFIG)
    loaded = small.assert_round_trips(reference, obs, tmp_path)
    assert loaded.report == reference.report


def test_answers_do_not_depend_on_how_many_are_asked():
    obs, actions = small.make_data()
    reference = fit_network(obs, actions, small.CONFIG)
    single = np.concatenate([reference(obs[i : i + 1]).scale for i in range(3)])
    np.testing.assert_allclose(single, reference(obs).scale[:3], rtol=1e-5)
    assert reference(obs[:0]).loc.shape == (0, 2)


def test_hopeless_data_is_named():
    obs, actions = small.make_data()
    with pytest.raises(UserError, match="never finite"):
        fit_network(obs, 1e30 * actions, small.CONFIG)
    with pytest.raises(UserError, match="at least 2"):
        fit_network(obs[:1], actions[:1], small.CONFIG)
