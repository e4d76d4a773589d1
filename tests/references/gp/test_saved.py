import json

import numpy as np
import pytest

from nppac.references import GPConfig, GPReference, condition, load_reference
from nppac.utils.errors import UserError
from nppac.utils.files import write_arrays
from references import dense


@pytest.fixture(scope="module")
def arrays():
    params, obs, actions = dense.make_problem()
    report = {"log_likelihood_after": 1.5, "log_likelihood_per_kernel": {"rbf": 1.5}}
    return condition(params, "rbf", obs, actions, report=report).arrays()


def test_what_was_saved_is_read(arrays):
    saved = GPReference.from_arrays(arrays)
    assert saved.kernel == "rbf"
    assert saved.config == GPConfig()
    assert saved.report["log_likelihood_per_kernel"] == {"rbf": 1.5}
    np.testing.assert_array_equal(saved.weights, arrays["weights"])
    np.testing.assert_array_equal(saved.params.w, arrays["params_w"])


def test_a_file_with_the_old_name_of_a_setting_is_read(arrays, tmp_path):
    fields = json.loads(str(arrays["config"]))
    fields["stretch"] = 2.0
    del fields["lengthscale_multiplier"]
    old = arrays | {
        "kind": np.asarray("gp"),
        "config": np.asarray(json.dumps(fields)),
        "report": np.asarray(json.dumps({"stretch": 2.0})),
    }
    write_arrays(tmp_path / "old.npz", old)
    reference = load_reference(tmp_path / "old.npz")
    assert reference.config.lengthscale_multiplier == 2.0
    assert reference.summary()["lengthscale_multiplier"] == 2.0
    assert "stretch" not in reference.summary()


@pytest.mark.parametrize(
    "name",
    [
        *("kernel", "config", "report", "obs", "actions", "weights"),
        *("params_lengthscales", "params_w", "params_v"),
        *("params_noise", "params_shared_noise", "params_mean"),
    ],
)
def test_a_damaged_array_is_named(arrays, name):
    good = arrays[name]
    bad = [None, np.asarray(b"x"), np.zeros((2, 3, 4)), np.asarray("[1]"), np.asarray("\ud800")]
    bad += [np.zeros(0), np.asarray("[" * 10_000), np.asarray("{}{}")]
    if good.dtype.kind == "f":
        bad += [np.full_like(good, np.nan), np.full_like(good, np.inf), good.astype(np.int64)]
        bad += [good.astype(complex), np.stack([good, good])]
    for value in bad:
        damaged = {k: v for k, v in (arrays | {name: value}).items() if v is not None}
        with pytest.raises(UserError, match=name):
            GPReference.from_arrays(damaged)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("actions", np.zeros((24, 4))),
        ("weights", np.zeros((25, 3))),
        ("params_lengthscales", np.zeros(3)),
        ("params_lengthscales", np.full(3, 1e-300)),
        ("params_noise", np.array([0.1, 0.0, 0.1, 0.1])),
        ("params_shared_noise", np.asarray(-0.1)),
        ("params_v", np.full(4, -1.0)),
        ("params_w", np.full(4, 1e200)),
        ("config", np.asarray('{"neighbours": 0}')),
        ("config", np.asarray('{"nonsense": 0}')),
        ("report", np.asarray('{"fit_points": "many"}')),
        ("report", np.asarray('{"fit_points": NaN}')),
        ("report", np.asarray('{"per": {"rbf": [1]}}')),
        ("report", np.asarray('{"fit_points": 1' + "0" * 400 + "}")),
        ("kernel", np.asarray("linear")),
    ],
)
def test_values_that_no_gp_can_have_are_named(arrays, name, value):
    with pytest.raises(UserError, match=name):
        GPReference.from_arrays(arrays | {name: value})
