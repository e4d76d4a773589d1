from dataclasses import replace

import numpy as np
import pytest

from nppac.references import GPConfig, condition, fit_gp
from nppac.utils.errors import UserError

QUICK = GPConfig(kernel="matern52", max_steps=5)


def demonstrations(n=40):
    obs = np.linspace(0.0, 6.0, n)[:, None] * np.array([1.0, 0.5])
    return obs, np.stack([np.sin(obs[:, 0]), np.cos(obs[:, 0])], axis=1)


def test_fit_then_condition_predicts_what_was_demonstrated():
    obs, actions = demonstrations()
    reference = fit_gp(obs, actions, GPConfig(kernel="matern12", max_steps=30))
    np.testing.assert_allclose(reference.mean(obs), actions, atol=0.05)
    assert (reference(obs + 50.0).scale > 3 * reference(obs).scale).all()
    summary = reference.summary()
    assert summary["log_likelihood_after"] > summary["log_likelihood_before"]


def test_stretched_lengthscales_are_the_fitted_ones_times_the_factor():
    obs, actions = demonstrations()
    fitted, stretched = (
        fit_gp(obs, actions, replace(QUICK, lengthscale_multiplier=lengthscale_multiplier))
        for lengthscale_multiplier in (1.0, 2.5)
    )
    expected = fitted.params._replace(lengthscales=2.5 * fitted.params.lengthscales)
    for got, want in zip(stretched.params, expected, strict=True):
        np.testing.assert_allclose(got, want)
    oracle = condition(expected, "matern52", obs, actions)
    np.testing.assert_allclose(stretched.mean(obs + 0.3), oracle.mean(obs + 0.3), rtol=1e-6)
    assert stretched.summary()["lengthscale_multiplier"] == 2.5


def test_progress_ends_at_the_announced_total():
    seen = []
    obs, actions = demonstrations()
    config = GPConfig(kernel="matern12", max_steps=3)
    fit_gp(obs, actions, config, lambda done, status="": seen.append(done))
    assert seen == sorted(seen)
    assert seen[-1] == config.total_steps


@pytest.mark.parametrize("method", ["exact", "neighbours"])
@pytest.mark.parametrize("case", ["two points", "constant actions", "repeated", "constant column"])
def test_degenerate_demonstrations_fit(case, method):
    obs, actions = demonstrations()
    if case == "two points":
        obs, actions = obs[:2], actions[:2, :1]
    elif case == "constant actions":
        actions = np.ones_like(actions)
    elif case == "repeated":
        obs, actions = np.repeat(obs[:5], 8, axis=0), np.repeat(actions[:5], 8, axis=0)
    else:
        obs[:, 1] = 0.1
    config = GPConfig(kernel="matern12", max_steps=20, variance=method)
    reference = fit_gp(obs, actions, config)
    stats = reference(np.concatenate([obs, obs + 1.0]))
    assert np.isfinite(stats.loc).all()
    assert (stats.scale > 0.0).all()
    np.testing.assert_allclose(stats.loc[: len(obs)], actions, atol=0.3)


@pytest.mark.parametrize(
    ("obs", "actions", "message"),
    [
        (np.zeros((5, 2)), np.zeros((4, 1)), "5 observations but 4 actions"),
        (np.zeros(5), np.zeros((5, 1)), "one row per step"),
        (np.zeros((0, 2)), np.zeros((0, 1)), "one row per step"),
        (np.full((5, 2), np.nan), np.zeros((5, 1)), "observations are not finite at step 0"),
        (np.zeros((5, 2)), np.full((5, 1), np.inf), "actions are not finite at step 0"),
    ],
)
def test_bad_demonstrations_are_named(obs, actions, message):
    with pytest.raises(UserError, match=message):
        fit_gp(obs, actions, QUICK)
