from dataclasses import replace

import numpy as np
import pytest

from nppac.references import GPConfig, condition, fit_gp
from nppac.references.gp import config as gp_config
from nppac.references.gp import fit as gp_fit
from nppac.references.gp.config import NOISE_FLOOR, WORK, FitWork
from nppac.references.gp.fit import _subset, fit_hyperparameters
from nppac.references.gp.kernels import KERNELS
from nppac.utils.errors import UserError
from references import dense

QUICK = GPConfig(kernel="matern52", max_steps=5)


def draw(kernel, n=50, seed=0):
    """Actions drawn from a GP with that kernel: one input that matters and one that does not."""
    rng = np.random.default_rng(seed)
    obs = rng.uniform(0, 4, size=(n, 2))
    lengthscales = np.array([1.0, 1e3])
    k = dense.kernel_matrix(kernel, obs, obs, lengthscales)
    root = np.linalg.cholesky(k + 1e-8 * np.eye(n))
    return obs, root @ rng.normal(size=(n, 3)) + 0.02 * rng.normal(size=(n, 3))


@pytest.mark.parametrize("kernel", ["rbf", "matern12"])
def test_auto_finds_the_generating_kernel(kernel):
    obs, actions = draw(kernel)
    config = GPConfig(kernel="auto", max_steps=25)
    seen = []
    work = FitWork(config, len(obs), lambda done, status="": seen.append((done, status)))
    fit = fit_hyperparameters(obs, actions, config, work)
    assert fit.kernel == kernel
    assert set(fit.per_kernel) == set(KERNELS)
    assert max(fit.per_kernel, key=fit.per_kernel.__getitem__) == kernel
    assert seen == sorted(seen, key=lambda step: step[0])
    assert 0 < seen[-1][0] <= WORK
    assert seen[-1][1].startswith(kernel)


def test_finds_what_matters_and_how_noisy_it_is():
    obs, actions = draw("matern52")
    params = fit_hyperparameters(obs, actions, GPConfig(kernel="matern52")).params
    assert 0.5 < params.lengthscales[0] < 2.0
    assert params.lengthscales[1] > 10.0
    np.testing.assert_allclose(np.sqrt(params.noise_variance), 0.02, rtol=0.5)


def test_units_of_the_robot_do_not_matter():
    obs, actions = draw("matern32")
    config = GPConfig(kernel="matern32", max_steps=20)
    metres = fit_hyperparameters(obs, actions, config)
    millimetres = fit_hyperparameters(obs * np.array([1e3, 1.0]) + 7.0, actions, config)
    assert millimetres.after == pytest.approx(metres.after, abs=1e-3)
    ratio = millimetres.params.lengthscales[0] / metres.params.lengthscales[0]
    assert ratio == pytest.approx(1e3, rel=1e-2)


def test_adam_reaches_the_likelihood_of_lbfgs():
    obs, actions = draw("matern32")
    quick = fit_hyperparameters(obs, actions, GPConfig(kernel="matern32"))
    paper = fit_hyperparameters(
        obs, actions, GPConfig(kernel="matern32", optimiser="adam", max_steps=200)
    )
    assert paper.after == pytest.approx(quick.after, abs=0.02)
    assert quick.before == pytest.approx(paper.before, abs=1e-9)


def test_the_last_steps_take_more_points(monkeypatch):
    obs, actions = draw("matern32", n=90)
    seen = []
    config = GPConfig(kernel="matern32", fit_points=2000, max_steps=30)
    whole = fit_hyperparameters(obs, actions, replace(config, fit_points=999))
    assert replace(config, fit_points=999).refine_steps == 0
    monkeypatch.setattr(gp_fit, "COARSE_POINTS", 25)
    monkeypatch.setattr(gp_config, "COARSE_POINTS", 25)
    work = FitWork(config, len(obs), lambda done, status="": seen.append(done))
    fit = fit_hyperparameters(obs, actions, config, work)
    coarse = fit_hyperparameters(obs[_subset(90, 25, 0)], actions[_subset(90, 25, 0)], config)
    assert (fit.points, coarse.points, whole.points) == (90, 25, 90)
    assert fit.after == pytest.approx(whole.after, abs=0.02)
    assert work.stages["fine"].steps == 10
    assert seen == sorted(seen)
    assert 0 < seen[-1] <= WORK
    assert replace(config, optimiser="adam").refine_steps == 0


def test_noise_has_a_floor():
    obs, _ = draw("rbf")
    smooth = np.repeat(0.5 * obs[:, :1], 3, axis=1)
    fit = fit_hyperparameters(obs, smooth, GPConfig(kernel="rbf"))
    assert fit.params.noise_variance.min() >= NOISE_FLOOR


def test_subset_is_random_by_seed_and_of_the_asked_size():
    chosen = _subset(80, 20, seed=0)
    assert len(set(chosen.tolist())) == 20
    np.testing.assert_array_equal(chosen, _subset(80, 20, seed=0))
    assert (chosen != _subset(80, 20, seed=1)).any()
    np.testing.assert_array_equal(_subset(5, 20, seed=0), np.arange(5))


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


def test_multiplied_lengthscales_are_the_fitted_ones_times_the_factor():
    obs, actions = demonstrations()
    fitted, longer = (
        fit_gp(obs, actions, replace(QUICK, lengthscale_multiplier=multiplier))
        for multiplier in (1.0, 2.5)
    )
    expected = fitted.params._replace(lengthscales=2.5 * fitted.params.lengthscales)
    for got, want in zip(longer.params, expected, strict=True):
        np.testing.assert_allclose(got, want)
    oracle = condition(expected, "matern52", obs, actions)
    np.testing.assert_allclose(longer.mean(obs + 0.3), oracle.mean(obs + 0.3), rtol=1e-6)
    assert longer.summary()["lengthscale_multiplier"] == 2.5


def test_progress_ends_at_the_announced_total():
    seen = []
    obs, actions = demonstrations()
    config = GPConfig(kernel="matern12", max_steps=3)
    fit_gp(obs, actions, config, lambda done, status="": seen.append(done))
    assert seen == sorted(seen)
    assert seen[-1] == WORK


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
