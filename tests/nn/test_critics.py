import jax
import numpy as np
import pytest

from nn.test_networks import KEY, called, drawn, made, normal
from nppac.nn.critics import CriticEnsemble
from nppac.nn.standardise import Standardiser
from nppac.types import ReferenceStats


@pytest.mark.parametrize("layer_norm", [False, True])
def test_critics_of_residuals_see_actions_within_the_reference_by_hand(layer_norm):
    critic = drawn(CriticEnsemble, 2, 3, 2, (16,), layer_norm, True, True)  # clips, residuals
    obs, action = np.float32([[3.0, 0.0, 5.0]]), np.float32([[0.4, 2.0]])
    reference = ReferenceStats(np.float32([[0.3, 0.5]]), np.float32([[0.05, 0.01]]))
    units = Standardiser(np.float64([1.0, 0.0, 0.0]), np.float64([2.0, 1.0, 0.1]))
    critic = critic.with_units(units, np.float64([0.1, 0.001]))
    # (3 - 1) / 2, 0, 50 cut at 10; the actions in the box; (0.4 - 0.3) / 0.1 for σ0 = 0.05 is too
    # small, 50 cut at 10.
    inputs = np.float32([[1.0, 0.0, 10.0, 0.4, 1.0, 1.0, 10.0]])
    members = jax.tree.map(np.asarray, critic.members)
    for i, value in enumerate(np.asarray(called(critic, obs, action, reference))):
        member = jax.tree.map(lambda stacked, i=i: stacked[i], members)
        np.testing.assert_allclose(value, called(member, inputs)[..., 0], rtol=1e-5, atol=1e-6)


def test_critics_of_residuals_resolve_what_others_hardly_see():
    """Of an action that is one σ0 of 0.01 away."""
    plain, relative = (made(CriticEnsemble, 2, 3, 2, (64,), residuals=r) for r in (False, True))
    obs, action = normal(100, 3), np.zeros((100, 2), np.float32)
    reference = ReferenceStats(action, np.full_like(action, 0.01))

    def effect(critic):
        here, there = (called(critic, obs, a, reference) for a in (action, action + 0.01))
        return np.abs(np.asarray(there - here)).mean()

    assert effect(relative) > 20 * effect(plain)


def test_a_few_critics_of_residuals_keep_their_units():
    critic = made(CriticEnsemble, 3, 3, 2, (16,), residuals=True)
    few = critic.random_members(KEY, 1)
    reference = ReferenceStats(np.zeros((4, 2), np.float32), np.ones((4, 2), np.float32))
    inputs = normal(4, 3), normal(4, 2, seed=1), reference
    all_of_them, one = (np.asarray(called(c, *inputs)) for c in (critic, few))
    assert one.shape == (1, 4)
    assert any(np.allclose(one[0], value) for value in all_of_them)


def test_critics_of_residuals_need_the_reference():
    critic = drawn(CriticEnsemble, 2, 3, 2, (16,), residuals=True)
    with pytest.raises(ValueError, match="need the reference"):
        critic(normal(4, 3), normal(4, 2))
