import numpy as np
import pytest
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process import kernels as sk

from nppac.references import GPConfig, GPParams, GPReference, condition, load_reference
from nppac.references.gp.kernels import KERNELS, prior_variance
from nppac.utils.errors import UserError
from references import dense


def scikit_kernel(kernel, lengthscales):
    if kernel == "rbf":
        return sk.RBF(lengthscales)
    return sk.Matern(lengthscales, nu={"matern12": 0.5, "matern32": 1.5, "matern52": 2.5}[kernel])


def test_one_point_by_hand():
    """Signal 1, noise 0.1, action 1: mean 1/1.1 and variance 1 - 1/1.1 + 0.1."""
    params = GPParams(
        np.ones(1), np.zeros(1), np.ones(1), np.full(1, 0.1), np.asarray(0.0), np.zeros(1)
    )
    obs = np.zeros((1, 1))
    for variance in ("exact", "neighbours"):
        config = GPConfig(variance=variance)
        loc, var = condition(params, "rbf", obs, np.ones((1, 1)), config).mean_and_variance(obs)
        assert loc[0, 0] == pytest.approx(0.90909, abs=1e-5)
        assert var[0, 0] == pytest.approx(0.19091, abs=1e-5)


@pytest.mark.parametrize("kernel", KERNELS)
def test_single_output_equals_scikit_learn(kernel):
    params, obs, actions = dense.make_problem(d=1)
    signal, noise = float(params.w[0] ** 2 + params.v[0]), float(params.noise[0] + 0.05)
    theirs = GaussianProcessRegressor(
        sk.ConstantKernel(signal) * scikit_kernel(kernel, params.lengthscales),
        alpha=noise,
        optimizer=None,
    ).fit(obs, actions[:, 0] - params.mean)
    query = obs[:10] + 0.3
    mean, std = theirs.predict(query, return_std=True)
    loc, variance = condition(params, kernel, obs, actions).mean_and_variance(query)
    np.testing.assert_allclose(loc[:, 0], mean + params.mean, atol=1e-6)
    np.testing.assert_allclose(variance[:, 0], std**2 + noise, atol=1e-6)


@pytest.mark.parametrize(
    ("kernel", "method"), [*((kernel, "exact") for kernel in KERNELS), ("matern52", "neighbours")]
)
def test_many_outputs_equal_dense_algebra(kernel, method):
    params, obs, actions = dense.make_problem()
    query = np.concatenate([obs[:5], obs[:5] + 0.3])
    reference = condition(params, kernel, obs, actions, GPConfig(variance=method))
    loc, variance = reference.mean_and_variance(query)
    mean, expected = dense.posterior(params, kernel, obs, actions, query)
    np.testing.assert_allclose(loc, mean, atol=1e-6)
    np.testing.assert_allclose(variance, expected, rtol=2e-6)


def test_statistics_are_float32_with_the_root_of_the_variance():
    params, obs, actions = dense.make_problem()
    reference = condition(params, "matern32", obs, actions)
    stats = reference(obs + 0.1)
    loc, variance = reference.mean_and_variance(obs + 0.1)
    assert stats.loc.dtype == stats.scale.dtype == np.float32
    np.testing.assert_allclose(stats.scale**2, variance, rtol=1e-5)
    np.testing.assert_allclose(stats.loc, loc, atol=1e-6)
    np.testing.assert_allclose(reference.mean(obs + 0.1), loc, atol=1e-6)
    assert reference.family == "normal"


def test_scale_is_variance_only_when_asked():
    params, obs, actions = dense.make_problem()
    config = GPConfig(scale_is_variance=True)
    reference = condition(params, "rbf", obs, actions, config)
    np.testing.assert_allclose(reference(obs).scale, reference.mean_and_variance(obs)[1], rtol=1e-6)


@pytest.mark.parametrize("method", ["exact", "neighbours"])
def test_far_from_data_the_prior_returns(method):
    params, obs, actions = dense.make_problem()
    reference = condition(params, "matern52", obs, actions, GPConfig(variance=method))
    loc, variance = reference.mean_and_variance(obs + 1e6)
    np.testing.assert_allclose(variance - prior_variance(params), 0.0, atol=1e-9)
    np.testing.assert_allclose(loc - params.mean, 0.0, atol=1e-9)


def test_neighbours_never_have_less_variance():
    params, obs, actions = dense.make_problem(n=300)
    query = np.concatenate([obs, obs + 0.2])
    exact = condition(params, "matern52", obs, actions, GPConfig(variance="exact"))
    few = condition(
        params, "matern52", obs, actions, GPConfig(variance="neighbours", neighbours=30)
    )
    ratio = few.mean_and_variance(query)[1] / exact.mean_and_variance(query)[1]
    assert ratio.min() > 1.0 - 1e-9
    assert 1.0 + 1e-3 < ratio.max() < 2.0
    np.testing.assert_allclose(few.mean(query), exact.mean(query), atol=1e-6)


def test_batch_size_does_not_change_the_answer():
    params, obs, actions = dense.make_problem()
    for method in ("exact", "neighbours"):
        reference = condition(params, "matern52", obs, actions, GPConfig(variance=method))
        query = np.tile(obs, (12, 1)) + 0.1
        whole = reference(query)
        for part in (slice(0, 1), slice(3, 20), slice(0, 0)):
            np.testing.assert_allclose(reference(query[part]).loc, whole.loc[part], atol=1e-6)
            np.testing.assert_allclose(reference(query[part]).scale, whole.scale[part], rtol=1e-5)


@pytest.mark.parametrize("method", ["exact", "neighbours"])
def test_save_and_load_round_trip(tmp_path, method):
    params, obs, actions = dense.make_problem()
    config = GPConfig(kernel="matern52", variance=method)
    report = {"log_likelihood_after": 1.5}
    reference = condition(params, "matern52", obs, actions, config, report)
    reference.save(tmp_path / "gp.npz")
    loaded = load_reference(tmp_path / "gp.npz")
    assert isinstance(loaded, GPReference)
    assert loaded.summary() == reference.summary()
    assert loaded.config == config
    for before, after in zip(reference(obs + 0.1), loaded(obs + 0.1), strict=True):
        np.testing.assert_array_equal(before, after)
    assert (tmp_path / "gp.npz").stat().st_size < 20_000


def test_summary_holds_the_lengthscale_table():
    params, obs, actions = dense.make_problem()
    summary = condition(params, "rbf", obs, actions).summary()
    assert summary["kernel"] == "rbf"
    assert summary["points"] == 25
    assert summary["lengthscales"] == params.lengthscales.tolist()
    assert summary["noise_std"] == pytest.approx(np.sqrt(params.noise + 0.05))
    assert summary["coregionalisation"] == {"w": params.w.tolist(), "v": params.v.tolist()}


def test_summary_counts_actions_on_the_noise_floor():
    params, obs, actions = dense.make_problem()
    noise = np.array([1e-4, 1.1e-4, 2e-4, 0.01])
    params = params._replace(noise=noise, shared_noise=np.asarray(1e-6))
    assert condition(params, "rbf", obs, actions).summary()["actions_on_noise_floor"] == 2


def test_arrays_describe_the_reference_without_its_kind():
    params, obs, actions = dense.make_problem()
    reference = condition(params, "rbf", obs, actions)
    arrays = reference.arrays()
    assert "kind" not in arrays
    assert GPReference.kind == "gp"
    again = GPReference.from_arrays(arrays)
    np.testing.assert_array_equal(again.mean(obs), reference.mean(obs))


def test_the_number_of_threads_does_not_change_a_bit(monkeypatch):
    params, obs, actions = dense.make_problem(n=300)
    config = GPConfig(variance="neighbours", neighbours=20)
    reference = condition(params, "matern52", obs, actions, config)
    answers = []
    for threads in ("1", "2"):
        monkeypatch.setenv("NPPAC_THREADS", threads)
        answers.append(reference(obs + 0.1))
    for one, two in zip(*answers, strict=True):
        np.testing.assert_array_equal(one, two)


def test_offset_of_observations_does_not_matter():
    params, obs, actions = dense.make_problem()
    near = condition(params, "matern12", obs, actions).mean_and_variance(obs + 0.1)
    far = condition(params, "matern12", obs + 1e5, actions).mean_and_variance(obs + 1e5 + 0.1)
    np.testing.assert_allclose(near, far, atol=1e-7)


@pytest.mark.parametrize(
    ("query", "message"),
    [
        (np.zeros((2, 4)), "observations of 3 numbers"),
        (np.zeros(3), r"\(n, 3\)"),
        (np.full((1, 3), np.nan), "not finite"),
    ],
)
def test_bad_queries_are_named(query, message):
    params, obs, actions = dense.make_problem()
    reference = condition(params, "rbf", obs, actions)
    with pytest.raises(UserError, match=message):
        reference(query)
    with pytest.raises(UserError, match=message):
        reference.mean(query)
