import numpy as np
import pytest

from nppac.references.gp.kernels import gram
from nppac.references.gp.large import precondition as gp_precondition
from nppac.references.gp.large.precondition import (
    Landmarks,
    Preconditioner,
    landmark_count,
    near_order,
)


def points(n=240):
    x = np.random.default_rng(0).normal(size=(n, 2))
    return x[near_order(x, 60)]


def test_it_is_the_inverse_of_landmarks_plus_blocks(monkeypatch):
    monkeypatch.setattr(gp_precondition, "BLOCK", 60)
    x, v = points(), np.random.default_rng(1).normal(size=(240, 3))
    landmarks = Landmarks("matern12", x, 40)
    explained = landmarks.u @ landmarks.u.T
    same = np.arange(240)[:, None] // 60 == np.arange(240) // 60
    matrix = np.where(same, gram("matern12", x), explained) + 0.1 * np.eye(240)
    np.testing.assert_allclose(matrix @ Preconditioner(landmarks, 0.1)(v), v, atol=1e-5)


def test_all_points_as_landmarks_explain_everything():
    x = points(100)
    u = Landmarks("matern12", x, 100).u
    np.testing.assert_allclose(u @ u.T, gram("matern12", x), atol=1e-6)


def test_blocks_hold_near_points():
    x = np.random.default_rng(0).normal(size=(1000, 2))
    order = near_order(x, 250)
    np.testing.assert_array_equal(np.sort(order), np.arange(1000))
    spread = np.mean([x[order[i : i + 250]].var(0).sum() for i in range(0, 1000, 250)])
    assert spread < 0.5 * x.var(0).sum()


@pytest.mark.parametrize("points", [10, 5000, 100_000, 200_000])
def test_landmarks_keep_to_the_memory(points):
    count = landmark_count(points, 2)
    assert 1 <= count <= points
    blocks = 2 * min(gp_precondition.BLOCK, points)
    assert 8 * points * (count + blocks) <= gp_precondition.MEMORY
