from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from nppac.nn.standardise import fit_standardiser
from nppac.references.neural.batches import Data, MemberSplit
from nppac.references.neural.fit import falling_rates, fit_members
from nppac.references.neural.model import losses
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
        last = max(report["best_epoch"], report["mean_best_epoch"])
        assert report["epochs"] == min(last + 2, 60) == len(report["validation_nll"])


def test_mean_and_variance_are_each_kept_at_their_best():
    data = make_problem()
    members = fit_members(data, replace(CONFIG, patience=60), 3)
    reports = [member.report for member in members]
    assert any(report["mean_best_epoch"] != report["best_epoch"] for report in reports)
    member, report, split = members[0], reports[0], MemberSplit(len(data.x), CONFIG, 0)
    assert report["mean_squared_error"] == min(report["mean_validation_error"])
    assert report["best_validation_nll"] == min(report["validation_nll"])
    held = (jnp.asarray(part[split.validation]) for part in data[:2])
    error, nll, _ = losses(member.networks, *held, CONFIG.objective)
    assert float(error) == pytest.approx(report["mean_squared_error"], rel=1e-5)
    assert float(nll) < report["best_validation_nll"] + 0.2


def test_regularisers_of_the_variance_leave_the_mean_alone():
    config = replace(CONFIG, max_epochs=6)
    plain, bonus, laplace = (
        fit_members(make_problem(), replace(config, **change))[0]
        for change in ({}, {"entropy_bonus": 0.5}, {"family": "laplace"})
    )
    assert_same(plain.networks.mean, bonus.networks.mean)
    assert_same(plain.networks.mean, laplace.networks.mean)


def test_progress_counts_epochs():
    seen = []
    config = replace(CONFIG, max_epochs=3)
    fit_members(make_problem(), config, advance=lambda done, status="": seen.append((done, status)))
    assert [done for done, _ in seen] == [1, 2, 3]
    assert seen[0][1].startswith("validation NLL")


@pytest.mark.parametrize("attempt", range(6))  # any of the threads may be the one that raises
def test_an_interrupt_ends_every_member_with_its_epoch(attempt):
    seen = []

    def interrupted(done, status=""):
        seen.append(done)
        if done == 2:
            raise KeyboardInterrupt

    config = replace(CONFIG, max_epochs=200, patience=200)
    with pytest.raises(KeyboardInterrupt):
        fit_members(make_problem(), config, members=3, advance=interrupted)
    assert seen[-1] < 20
