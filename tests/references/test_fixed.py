import numpy as np
import pytest

from nppac.references import (
    ConstantVarianceReference,
    UniformReference,
    condition,
    load_reference,
)
from nppac.utils.errors import UserError
from references import dense


def test_uniform_is_the_box():
    reference = UniformReference(3)
    stats = reference(np.zeros((2, 5)))
    assert reference.family == "uniform"
    np.testing.assert_array_equal(stats.loc, np.zeros((2, 3), np.float32))
    np.testing.assert_array_equal(stats.scale, np.ones((2, 3), np.float32))
    assert stats.loc.dtype == stats.scale.dtype == np.float32


def test_constant_variance_keeps_the_mean():
    params, obs, actions = dense.make_problem()
    gp = condition(params, "rbf", obs, actions)
    stats = ConstantVarianceReference(gp, 0.04)(obs)
    np.testing.assert_array_equal(stats.loc, gp.mean(obs))
    np.testing.assert_allclose(stats.scale, 0.2)
    assert stats.scale.dtype == np.float32


@pytest.mark.parametrize("variance", [0.0, -1.0, np.nan, np.inf])
def test_variance_must_be_positive(variance):
    with pytest.raises(UserError, match="positive"):
        ConstantVarianceReference(UniformReference(1), variance)


def test_round_trips(tmp_path):
    params, obs, actions = dense.make_problem()
    gp = condition(params, "rbf", obs, actions)
    for reference in (UniformReference(4), ConstantVarianceReference(gp, 0.04)):
        reference.save(tmp_path / "reference.npz")
        loaded = load_reference(tmp_path / "reference.npz")
        assert type(loaded) is type(reference)
        assert loaded.summary() == reference.summary()
        for before, after in zip(reference(obs), loaded(obs), strict=True):
            np.testing.assert_array_equal(before, after)
