import numpy as np
import pytest

from nppac.references.gp.kernels import gram
from nppac.references.gp.solve import (
    conjugate_gradients,
    group_by_ratio,
    solve_with_cholesky,
)


def test_solves_every_shift_even_without_signal():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(60, 2))
    lam = np.array([0.0, 1e-3, 0.5, 40.0, 1e4, 2e4])
    z = rng.normal(size=(60, 6))
    z[:, 2] = 0.0
    g = solve_with_cholesky("matern12", x, lam, z)
    k = gram("matern12", x)
    for j, shift in enumerate(lam):
        expected = np.linalg.solve(shift * k + np.eye(60), z[:, j])
        np.testing.assert_allclose(g[:, j], expected, atol=1e-8)


def test_repeated_observations_can_be_solved():
    x = np.zeros((30, 1))
    g = solve_with_cholesky("rbf", x, np.array([100.0]), np.ones((30, 1)))
    np.testing.assert_allclose(g, 1.0 / 3001.0, rtol=1e-8)


def test_outputs_share_a_factor_when_their_signals_are_similar():
    groups = group_by_ratio(np.array([5000.0, 1.0, 80.0, 3000.0]), 100.0)
    assert [sorted(group.tolist()) for group in groups] == [[1, 2], [0, 3]]


@pytest.mark.parametrize("flexible", [False, True])
def test_conjugate_gradients_solve_each_column_in_as_many_steps_as_eigenvalues(flexible):
    rng = np.random.default_rng(0)
    rotation = np.linalg.qr(rng.normal(size=(40, 40)))[0]
    matrix = (rotation * np.repeat([1.0, 3.0, 9.0, 50.0], 10)) @ rotation.T
    z, seen = rng.normal(size=(40, 3)), []
    solution = conjugate_gradients(
        lambda v: matrix @ v,
        lambda v: v,
        z,
        np.full(3, 1e-9),
        20,
        flexible=flexible,
        observe=lambda norms: seen.append(norms),
    )
    assert solution.converged
    np.testing.assert_allclose(solution.g, np.linalg.solve(matrix, z), atol=1e-9)
    assert 4 <= len(seen) <= 6
    assert (seen[-1] <= 1e-9).all()


def test_conjugate_gradients_say_when_they_do_not_converge():
    z, goal = np.ones((3, 1)), np.full(1, 1e-9)
    matrix = np.diag([1.0, 10.0, 100.0])
    for change in ({"max_iterations": 1}, {"max_iterations": 50, "patience": 1}):
        seen = []
        solution = conjugate_gradients(
            lambda v: matrix @ v, lambda v: v, z, goal, observe=seen.append, **change
        )
        assert not solution.converged
        assert len(seen) <= 2
    assert not conjugate_gradients(lambda v: -v, lambda v: v, z, goal, 5).converged
