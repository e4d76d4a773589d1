from dataclasses import replace

import jax
import numpy as np

from nppac.references.neural.epoch import Data
from nppac.references.neural.fit import fit_networks
from nppac.references.neural.query import standardiser
from references import small

CONFIG = replace(small.CONFIG, max_epochs=60, patience=1)


def make_problem():
    obs, actions = small.make_data()
    return Data(standardiser(obs)(obs), actions.astype(np.float32), None)


def assert_same(networks, others):
    for a, b in zip(jax.tree.leaves(networks), jax.tree.leaves(others), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-3, atol=1e-3)


def test_side_by_side_is_the_same_as_each_by_itself():
    data = make_problem()
    apart, together = (fit_networks(data, CONFIG, 3, stacked=flag) for flag in (False, True))
    epochs = [report["epochs"] for report in apart.reports]
    assert len(set(epochs)) > 1, "members must stop at different epochs"
    assert epochs == [report["epochs"] for report in together.reports]
    assert_same(apart.network, together.network)
    for one, other in zip(apart.reports, together.reports, strict=True):
        assert len(one["validation_nll"]) == one["epochs"] == one["best_epoch"] + 1
        np.testing.assert_allclose(one["validation_nll"], other["validation_nll"], rtol=1e-3)


def test_a_member_is_what_it_would_be_alone():
    data = make_problem()
    three, one = fit_networks(data, CONFIG, 3), fit_networks(data, CONFIG, 1)
    assert three.reports[0] == one.reports[0]
    assert_same(jax.tree.map(lambda leaf: leaf[:1], three.network), one.network)


def test_members_differ():
    first, second = fit_networks(make_problem(), CONFIG, 2).reports
    assert first["validation_nll"][0] != second["validation_nll"][0]
