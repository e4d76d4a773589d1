from contextlib import contextmanager
from dataclasses import replace

import numpy as np
import pytest

from nppac.references import (
    CustomReference,
    GPConfig,
    MixedReference,
    UniformReference,
    fit_named_reference,
    fit_steps,
    fitted_reference,
    fitting,
    given_reference,
    load_reference,
)
from nppac.references.gp.config import WORK
from nppac.utils.errors import UserError
from nppac.utils.files import write_arrays
from references import small

NETWORK = replace(small.CONFIG, max_epochs=2)


def policy(obs):
    return obs[:, :2], np.ones((len(obs), 2))


def fit(name, **options):
    return fit_named_reference(name, *small.make_data(), **{"network": NETWORK, **options})


def test_seed_is_the_fits():
    obs, _ = small.make_data()
    first, other, again = (fit("network", seed=seed) for seed in (3, 4, 3))
    np.testing.assert_array_equal(first(obs).loc, again(obs).loc)
    assert (first(obs).loc != other(obs).loc).any()
    own = fit("network", seed=4, network=replace(NETWORK, seed=3))
    np.testing.assert_array_equal(first(obs).loc, own(obs).loc)


def test_mixed_takes_mean_then_scale():
    obs, _ = small.make_data()
    mixed = fit("mixed:uniform+network")
    assert isinstance(mixed, MixedReference)
    np.testing.assert_array_equal(mixed(obs).loc, 0.0)
    np.testing.assert_array_equal(mixed(obs).scale, fit("network")(obs).scale)


def test_functions_are_references():
    assert isinstance(fit(f"{__name__}:policy"), CustomReference)
    assert fit_steps(f"{__name__}:policy") == 0


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("netwrk", "Did you mean 'network'"),
        ("mixed:gp", "Write mixed:MEAN"),
        ("mixed:gp+network+gp", "Write mixed:MEAN"),
        ("mixed:gp+netwrk", "Did you mean 'network'"),
    ],
)
def test_unknown_names_are_named(name, message):
    with pytest.raises(UserError, match=message):
        fit(name)


@pytest.mark.parametrize("name", ["gp", "uniform", "mixed:gp+network"])
def test_registered_names_are_fitted_even_where_a_file_has_that_name(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    (tmp_path / name).write_text("")
    assert given_reference(name) is None


def test_files_and_functions_are_taken_as_they_are(tmp_path):
    UniformReference(2).save(tmp_path / "a:b.npz")
    assert isinstance(given_reference(str(tmp_path / "a:b.npz")), UniformReference)
    assert isinstance(given_reference(f"{__name__}:policy"), CustomReference)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("netwrk", "Did you mean 'network'.*module:function"),
        ("mixed:gp+netwrk", "Did you mean 'network'"),
        ("mixed:gp+uniform", "A uniform reference has no scale"),
        ("absent.npz", "There is no reference file absent.npz"),
        ("runs/absent", "There is no reference file runs/absent"),
        ("no_module:policy", "Cannot import the module 'no_module'"),
    ],
)
def test_mistakes_are_named(name, message):
    with pytest.raises(UserError, match=message):
        given_reference(name)


@pytest.mark.parametrize("kernel", ["rbf", "auto"])
def test_the_bar_of_a_fit_has_the_total_that_the_fit_counts_to(monkeypatch, kernel):
    """With `auto` the trials of every kernel count too: the bar must not run past its end."""
    totals, counted = [], []

    @contextmanager
    def bar(description, total, *, at_most):
        assert at_most  # an optimiser may converge
        totals.append(total)
        yield lambda done, status="": counted.append(done)

    monkeypatch.setattr(fitting, "progress_bar", bar)
    config = GPConfig(kernel=kernel, max_steps=1, fit_points=30)
    fitted_reference("gp", *small.make_data(), gp=config)
    assert totals == [WORK] == [counted[-1]]


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"kind": np.asarray("uniforme")}, "Did you mean 'uniform'"),
        ({"something": np.zeros(2)}, "holds no reference"),
        ({"kind": np.asarray("gp")}, "saved reference is damaged: 'obs' is missing"),
    ],
)
def test_bad_files_are_named(tmp_path, arrays, message):
    write_arrays(tmp_path / "file.npz", arrays)
    with pytest.raises(UserError, match=message):
        load_reference(tmp_path / "file.npz")


def test_missing_file_is_named(tmp_path):
    with pytest.raises(UserError, match=r"absent\.npz"):
        load_reference(tmp_path / "absent.npz")
