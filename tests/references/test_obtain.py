from contextlib import contextmanager

import numpy as np
import pytest

from nppac.references import (
    CustomReference,
    GPConfig,
    UniformReference,
    fitted_reference,
    given_reference,
    obtain,
)
from nppac.utils.errors import UserError
from references import small


def policy(obs):
    return obs[:, :2], np.ones((len(obs), 2))


@pytest.mark.parametrize("name", ["gp", "uniform", "mixed:gp+network"])
def test_names_of_the_catalogue_are_fitted_even_where_a_file_has_that_name(
    tmp_path, monkeypatch, name
):
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
    def bar(description, total):
        totals.append(total)
        yield lambda done, status="": counted.append(done)

    monkeypatch.setattr(obtain, "progress_bar", bar)
    config = GPConfig(kernel=kernel, max_steps=1, fit_points=30)
    fitted_reference("gp", *small.make_data(), gp=config)
    assert totals == [config.total_steps] == [counted[-1]]
