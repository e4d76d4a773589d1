from dataclasses import replace

import numpy as np
import pytest

from nppac.agents.kl_actor_critic import KLActorCritic
from nppac.references import GPConfig, MixedReference, UniformReference, fit_gp
from nppac.training.lost import takes_lost_ratio, with_lost_scale
from toy_run import Watched

AGENT = KLActorCritic(lost_ratio=0.8, max_lost_steps=25)


@pytest.fixture(scope="module")
def gp():
    rng = np.random.default_rng(0)
    obs = rng.normal(size=(40, 3)).astype(np.float32)
    actions = np.tanh(obs[:, :2]) + 0.1 * rng.normal(size=(40, 2)).astype(np.float32)
    return fit_gp(obs, actions.astype(np.float32), GPConfig(kernel="rbf", max_steps=20))


def test_the_threshold_is_a_part_of_the_scale_far_from_the_data(gp):
    agent = with_lost_scale(AGENT, gp)
    far = gp(np.full((1, 3), 1e3, np.float32)).scale
    np.testing.assert_allclose(gp.far_scale(), far[0], rtol=1e-5)
    assert agent.lost_scale == pytest.approx(0.8 * far.mean(), rel=1e-5)
    assert agent.is_lost(far).all()
    assert not agent.is_lost(gp(gp.obs.astype(np.float32)).scale).any()


def test_a_scale_that_was_borrowed_has_its_owners_limit(gp):
    np.testing.assert_array_equal(MixedReference(Watched(), gp).far_scale(), gp.far_scale())


@pytest.mark.parametrize("reference", [Watched(), UniformReference(2)])
def test_nothing_is_lost_by_a_reference_without_a_limit(reference):
    assert with_lost_scale(AGENT, reference) == AGENT


def test_a_scale_that_was_given_wins(gp):
    given = replace(AGENT, lost_scale=0.3)
    assert not takes_lost_ratio(given)
    assert with_lost_scale(given, gp) == given
    plain = KLActorCritic()
    assert with_lost_scale(plain, gp) == plain
