import pytest

from nppac.references import GPConfig
from nppac.references.gp.config import migrate_gp_settings
from nppac.utils.errors import UserError


@pytest.mark.parametrize("field", ["kernel", "optimiser", "variance"])
def test_unknown_choices_are_named(field):
    with pytest.raises(UserError, match=f"'{field}' is 'nonsense'"):
        GPConfig(**{field: "nonsense"})


@pytest.mark.parametrize("value", [0, float("inf"), float("nan")])
@pytest.mark.parametrize(
    "field", ["fit_points", "neighbours", "max_steps", "learning_rate", "lengthscale_multiplier"]
)
def test_numbers_must_be_positive_and_finite(field, value):
    with pytest.raises(UserError, match=field):
        GPConfig(**{field: value})


def test_defaults_follow_the_optimiser_and_the_size():
    assert GPConfig(optimiser="adam").steps == 500
    assert GPConfig(optimiser="adam", max_steps=7).steps == 7
    assert GPConfig().variance_method(2000) == "exact"
    assert GPConfig().variance_method(2001) == "neighbours"
    assert GPConfig(variance="exact").variance_method(10**6) == "exact"


def test_old_names_of_settings_become_the_present_ones():
    old = {"kernel": "rbf", "stretch": 2.5}
    assert GPConfig(**migrate_gp_settings(old)).lengthscale_multiplier == 2.5
    assert old == {"kernel": "rbf", "stretch": 2.5}
    present = {"lengthscale_multiplier": 3.0, "neighbours": 5}
    assert migrate_gp_settings(present) == present
