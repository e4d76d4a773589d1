import numpy as np
import pytest

from nppac.references import (
    ConstantVarianceReference,
    CustomReference,
    MixedReference,
    UniformReference,
    condition,
    fit_network,
)
from nppac.utils.errors import UserError
from references import dense, small


def test_mean_of_one_and_scale_of_the_other(tmp_path):
    obs, actions = small.make_data()
    network = fit_network(obs, actions, small.CONFIG)
    flat = ConstantVarianceReference(UniformReference(2), 0.04)
    mixed = MixedReference(network, flat)
    np.testing.assert_array_equal(mixed(obs).loc, network(obs).loc)
    np.testing.assert_allclose(mixed(obs).scale, 0.2)
    assert mixed.family == "normal"
    small.assert_round_trips(mixed, obs, tmp_path)
    small.assert_round_trips(MixedReference(flat, network), obs, tmp_path)


def test_mixed_references_nest(tmp_path):
    params, obs, actions = dense.make_problem()
    gp = condition(params, "rbf", obs, actions)
    inner = MixedReference(UniformReference(actions.shape[1]), gp)
    small.assert_round_trips(MixedReference(gp, inner), obs, tmp_path)


def test_family_is_the_scales():
    flat = ConstantVarianceReference(UniformReference(2), 0.04)
    laplace = CustomReference(lambda obs: (obs, obs), "a:b", "laplace")
    assert MixedReference(flat, laplace).family == "laplace"


def test_impossible_mixtures_are_named():
    flat = ConstantVarianceReference(UniformReference(2), 0.04)
    with pytest.raises(UserError, match="no scale to give"):
        MixedReference(flat, UniformReference(2))
    with pytest.raises(UserError, match=r"\(1, 3\).*\(1, 2\)"):
        MixedReference(UniformReference(3), flat)(np.zeros((1, 3)))
