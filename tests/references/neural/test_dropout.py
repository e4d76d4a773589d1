import jax.numpy as jnp
import numpy as np
import pytest

from nppac.references import fit_dropout, fit_network
from nppac.utils.errors import UserError
from references import small


@pytest.fixture(scope="module")
def fitted():
    obs, actions = small.make_data()
    return obs, fit_dropout(obs, actions, small.CONFIG, passes=6, rate=0.3)


def test_answers_the_same_twice_and_from_a_file(fitted, tmp_path):
    obs, reference = fitted
    np.testing.assert_array_equal(reference(obs).loc, reference(obs).loc)
    loaded = small.assert_round_trips(reference, obs, tmp_path)
    np.testing.assert_array_equal(loaded.kept[0], reference.kept[0])


def test_training_drops_units(fitted):
    obs, actions = small.make_data()
    plain = fit_network(obs, actions, small.CONFIG)
    dropped = fitted[1].report["train_nll"]
    assert dropped[0] != pytest.approx(plain.report["train_nll"][0], abs=1e-5)


def test_matches_the_moments_of_its_passes(fitted):
    obs, reference = fitted
    x = jnp.asarray(reference.units(obs))
    passes = [
        reference.networks(x, 0.01, tuple(jnp.asarray(mask) / 0.7 for mask in masks))
        for masks in zip(*reference.kept, strict=True)
    ]
    locs, variances = (np.array(part) for part in zip(*passes, strict=True))
    assert locs.std(0).max() > 1e-3
    np.testing.assert_allclose(reference(obs).loc, locs.mean(0), rtol=1e-4, atol=1e-5)
    expected = variances.mean(0) + locs.var(0)
    np.testing.assert_allclose(reference(obs).scale ** 2, expected, rtol=1e-4)


@pytest.mark.parametrize("bad", [{"rate": 0.0}, {"rate": 1.0}, {"passes": 0}])
def test_impossible_dropout_is_named(bad):
    with pytest.raises(UserError, match="rate between 0 and 1"):
        fit_dropout(*small.make_data(), small.CONFIG, **bad)
