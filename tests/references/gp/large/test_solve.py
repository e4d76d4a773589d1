import numpy as np
import pytest

from nppac.references import GPConfig, condition
from nppac.references.gp import posterior as gp_posterior
from nppac.references.gp.large import precondition as gp_precondition
from nppac.references.gp.large import solve as gp_iterative
from nppac.references.gp.large.solve import solve_iteratively
from nppac.references.gp.solve import solve_with_cholesky
from nppac.utils.errors import UserError
from references import dense


def problem(n=250):
    rng = np.random.default_rng(0)
    lam = np.array([0.0, 1e-3, 0.5, 5.0, 40.0])
    return rng.normal(size=(n, 3)), lam, rng.normal(size=(n, 5))


@pytest.fixture(autouse=True)
def _few(monkeypatch):
    """Small blocks and few landmarks, so that iterations are needed for points of one strip."""
    monkeypatch.setattr(gp_precondition, "BLOCK", 40)
    monkeypatch.setattr(gp_precondition, "_LANDMARKS", (40, 40))


def test_equals_the_direct_solution():
    x, lam, z = problem()
    z[:, 2] = 0.0
    seen = []
    g = solve_iteratively(
        "matern32", x, lam, z, lambda done, status="": seen.append(status), tolerance=1e-9
    )
    expected = solve_with_cholesky("matern32", x, lam, z)
    np.testing.assert_allclose(g, expected, atol=1e-7)
    assert len(seen) > 3
    assert seen[-1].startswith("residual")


def test_stops_at_the_stated_residual():
    x, lam, z = problem()
    g = solve_iteratively("rbf", x, lam, z, tolerance=1e-3)
    k = dense.kernel_matrix("rbf", x, x, np.ones(3))
    left = np.linalg.norm(z - lam * (k @ g) - g, axis=0) / np.linalg.norm(z, axis=0)
    assert 1e-9 < left.max() <= 1e-3


def test_actions_without_noise_are_solved_for_in_float64(monkeypatch):
    monkeypatch.setattr(gp_precondition, "BLOCK", 200)
    monkeypatch.setattr(gp_precondition, "_LANDMARKS", (180, 180))
    rng = np.random.default_rng(0)
    x, lam = rng.normal(size=(250, 3)), np.array([1e8])
    z = np.tanh(x[:, :1]) * lam**0.5
    types = []

    class Operator(gp_iterative.KernelOperator):
        def __call__(self, vectors):
            types.append(self._dtype)
            return super().__call__(vectors)

    monkeypatch.setattr(gp_iterative, "KernelOperator", Operator)
    g = solve_iteratively("rbf", x, lam, z)
    k = dense.kernel_matrix("rbf", x, x, np.ones(3))
    assert np.linalg.norm(z - lam * (k @ g) - g) <= gp_iterative.TOLERANCE * np.linalg.norm(z)
    assert types[0] == np.float32
    assert types[-5:] == [np.float64] * 5  # iterations, not only the check after them


def test_a_residual_that_plateaus_is_not_given_up(monkeypatch):
    monkeypatch.setattr(gp_precondition, "BLOCK", 25)
    monkeypatch.setattr(gp_precondition, "_LANDMARKS", (12, 12))
    rng = np.random.default_rng(2)
    x, lam = rng.normal(size=(250, 3)), np.array([1e5, 1e5 / 30])
    z = (np.tanh(x[:, :2]) + 0.01 * rng.normal(size=(250, 2))) * lam**0.5
    seen = []
    g = solve_iteratively("matern52", x, lam, z, lambda done, status="": seen.append(done))
    k = dense.kernel_matrix("matern52", x, x, np.ones(3))
    left = np.linalg.norm(z - lam * (k @ g) - g, axis=0) / np.linalg.norm(z, axis=0)
    assert left.max() <= gp_iterative.TOLERANCE
    assert len(seen) > 2 * gp_iterative._PATIENCE


def test_never_answers_with_what_is_no_number():
    rng = np.random.default_rng(0)
    x, z = rng.normal(size=(250, 3)), rng.normal(size=(250, 2))
    with pytest.raises(UserError, match=r"did not converge: after .* iterations the residual is"):
        solve_iteratively("rbf", x, np.array([1e8, 1.0]), z)


def test_says_when_it_does_not_converge(monkeypatch):
    monkeypatch.setattr(gp_iterative, "_MAX_ITERATIONS", 1)
    with pytest.raises(UserError, match="did not converge"):
        solve_iteratively("matern12", *problem())


def test_a_reference_of_many_points_has_the_mean_of_a_direct_one(monkeypatch):
    params, obs, actions = dense.make_problem(n=500)
    config = GPConfig(variance="neighbours", neighbours=20)
    direct = condition(params, "matern52", obs, actions, config)
    monkeypatch.setattr(gp_posterior, "DIRECT_POINTS", 100)
    iterative = condition(params, "matern52", obs, actions, config)
    assert not np.array_equal(iterative.weights, direct.weights)
    error = iterative.mean_and_variance(obs)[0] - direct.mean_and_variance(obs)[0]
    # The residual that is left bounds it: the mean is (ΛK)(ΛK + I)⁻¹ of what was solved for.
    assert np.sqrt((error**2).mean()) < gp_iterative.TOLERANCE * actions.std()


def test_outputs_share_more_where_memory_is_short(monkeypatch):
    monkeypatch.setattr(gp_precondition, "BLOCK", 100)
    monkeypatch.setattr(gp_precondition, "_LANDMARKS", (100, 100))
    lam = 10.0 ** np.arange(8)
    assert len(gp_iterative._groups(lam, 1000)) == 8
    assert 1 <= len(gp_iterative._groups(lam, 1_500_000)) < 8
    with pytest.raises(UserError, match="too many"):
        gp_iterative._groups(lam, 10**8)
