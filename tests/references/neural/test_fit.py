from dataclasses import replace

import jax
import numpy as np

from nppac.nn.standardise import fit_standardiser
from nppac.references.neural.batches import Data
from nppac.references.neural.fit import falling_rates, fit_members
from references import small

CONFIG = replace(small.CONFIG, max_epochs=60, patience=2)


def make_problem():
    obs, actions = small.make_data()
    return Data(fit_standardiser(obs)(obs), actions.astype(np.float32))


def assert_same(networks, others):
    for a, b in zip(jax.tree.leaves(networks), jax.tree.leaves(others), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)


def test_the_rate_falls_along_half_a_cosine():
    np.testing.assert_allclose(falling_rates(0.4, 4), [0.4, 0.3414214, 0.2, 0.0585786], rtol=1e-6)


def test_a_member_is_what_it_would_be_alone():
    three, one = fit_members(make_problem(), CONFIG, 3), fit_members(make_problem(), CONFIG, 1)
    assert three[0].report == one[0].report
    assert_same(three[0].networks, one[0].networks)


def test_members_differ_and_stop_by_themselves():
    reports = [member.report for member in fit_members(make_problem(), CONFIG, 3)]
    assert len({report["validation_nll"][0] for report in reports}) == 3
    assert len({report["epochs"] for report in reports}) > 1
    for report in reports:
        assert len(report["validation_nll"]) == report["epochs"]
        assert report["epochs"] == min(report["best_epoch"] + 2, 60)
        assert report["mean_epochs"] == min(report["mean_best_epoch"] + 2, 60)


def test_the_likelihood_does_not_move_the_mean():
    short, long = (
        fit_members(make_problem(), replace(CONFIG, mean_epochs=30, max_epochs=n))[0]
        for n in (1, 30)
    )
    assert_same(short.networks.mean, long.networks.mean)
    assert short.report["mean_squared_error"] == min(short.report["mean_validation_error"])


def test_neither_do_regularisers_of_the_variance():
    plain, bonus = (
        fit_members(make_problem(), replace(CONFIG, entropy_bonus=beta))[0] for beta in (0.0, 0.5)
    )
    assert_same(plain.networks.mean, bonus.networks.mean)


def test_progress_counts_both_parts():
    seen = []
    config = replace(CONFIG, mean_epochs=3, max_epochs=2)
    fit_members(make_problem(), config, advance=lambda done, status="": seen.append((done, status)))
    assert [done for done, _ in seen] == [1, 2, 3, 4, 5]
    assert seen[0][1].startswith("mean, squared error")
    assert seen[-1][1].startswith("variance, validation NLL")
