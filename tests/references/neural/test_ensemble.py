from dataclasses import replace

import numpy as np
import pytest

from nppac.references import fit_ensemble
from nppac.utils.errors import UserError
from references import small


@pytest.fixture(scope="module")
def fitted():
    obs, actions = small.make_data()
    return obs, fit_ensemble(obs, actions, small.CONFIG, members=3)


def test_matches_the_moments_of_its_members(fitted):
    obs, ensemble = fitted
    stats = [ensemble.member(i)(obs) for i in range(3)]
    locs, variances = np.array([s.loc for s in stats]), np.array([s.scale**2 for s in stats])
    loc = locs.mean(0)
    variance = (variances + locs.astype(np.float64) ** 2).mean(0) - loc.astype(np.float64) ** 2
    np.testing.assert_allclose(ensemble(obs).loc, loc, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(ensemble(obs).scale ** 2, variance, rtol=1e-4)
    assert (locs.std(0).max(0) > 1e-3).all()


def test_first_members_are_an_ensemble(fitted):
    obs, ensemble = fitted
    assert [len(ensemble.members(k)) for k in (1, 2, 3)] == [1, 2, 3]
    np.testing.assert_allclose(
        ensemble.members(1)(obs).scale, ensemble.member(0)(obs).scale, rtol=1e-5
    )
    np.testing.assert_array_equal(ensemble.members(3)(obs).scale, ensemble(obs).scale)
    assert ensemble.members(2).summary()["size"] == 2
    with pytest.raises(UserError, match="has 3 members; cannot take 4"):
        ensemble.members(4)


def test_round_trips(fitted, tmp_path):
    obs, ensemble = fitted
    loaded = small.assert_round_trips(ensemble, obs, tmp_path)
    assert len(loaded) == 3
    small.assert_round_trips(ensemble.members(2), obs, tmp_path)


def test_summary_is_one_screen(fitted):
    summary = fitted[1].summary()
    assert summary["size"] == 3
    assert summary["first_best_epoch"] <= summary["last_best_epoch"]
    assert len(summary) < 20
    assert not any(isinstance(value, dict) for value in summary.values())


def test_members_are_a_setting():
    obs, actions = small.make_data()
    assert len(fit_ensemble(obs, actions, replace(small.CONFIG, members=2, max_epochs=1))) == 2


def test_no_members():
    with pytest.raises(UserError, match="at least one member"):
        fit_ensemble(*small.make_data(), small.CONFIG, members=0)
