import numpy as np
import pytest

from nppac.diagnostics.probes import (
    DistanceMetric,
    displaced,
    principal_components,
    principal_directions,
    random_directions,
    rollout_states,
)
from nppac.tasks import get_task, make_env
from toy_task import TASK, expert

from .samples import Known

RNG = np.random.default_rng(0)


@pytest.fixture
def obs():
    """Spread 3 along the first dimension, 0.1 along the second; the third never varies."""
    return np.stack([RNG.normal(0, 3, 500), RNG.normal(0, 0.1, 500), np.full(500, 7.0)], 1)


def test_a_step_of_length_one_moves_every_dimension_by_its_own_std(obs):
    metric = DistanceMetric.of(obs)
    base = obs[:200]
    moved = displaced(metric, base, random_directions(metric, 200, RNG), (0.0, 1.0, 4.0))
    np.testing.assert_allclose(moved[0], base, rtol=1e-6)
    np.testing.assert_array_equal(moved[..., 2], 7.0)  # nothing is known of its scale
    steps = (moved[2] - base)[:, :2] / obs.std(0)[:2]
    np.testing.assert_allclose(np.sqrt(np.mean(steps**2, 1)), 4.0, rtol=1e-4)


def test_distance_is_to_the_nearest_demonstration(obs):
    metric = DistanceMetric.of(obs)
    np.testing.assert_allclose(metric.distance(obs[:5]), 0.0, atol=1e-9)
    far = np.array([[1e4 * obs[:, 0].std(), 0.0, 7.0]])
    assert metric.distance(far)[0] == pytest.approx(1e4 / np.sqrt(2), rel=1e-2)


def test_principal_components_are_found_with_a_fixed_sign():
    line = np.outer(RNG.normal(size=50), [-0.6, -0.8, 0.0])
    np.testing.assert_allclose(principal_components(line, 1), [[0.6, 0.8, 0.0]], atol=1e-9)


def test_principal_directions_have_length_one_both_ways(obs):
    metric = DistanceMetric.of(obs)
    directions = principal_directions(metric, obs, 40, RNG)
    np.testing.assert_allclose(np.square(directions).sum(1) / metric.moving, 1.0)
    assert len({tuple(np.sign(d[np.abs(d).argmax()]).ravel()) for d in directions}) == 2


def test_rollouts_explore_and_repeat():
    envs = [make_env(get_task(TASK))]
    reference = Known(lambda d: 0.1 + 0 * d)
    reference.mean = expert
    first, again = (
        rollout_states(envs, reference, noise=0.2, episodes=2, seed=3) for _ in range(2)
    )
    np.testing.assert_array_equal(first, again)
    calm = rollout_states(envs, reference, noise=0.0, episodes=2, seed=3)
    assert not np.array_equal(first[:5], calm[:5])
