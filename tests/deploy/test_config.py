import pytest

from nppac.deploy.config import DistillConfig
from nppac.utils.errors import UserError


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"hidden": (8, 0)}, r"'hidden.1' is 0; it must be at least 1."),
        ({"episodes": 1}, "'episodes' is 1; it must be at least 2."),
        ({"epochs": 0}, "'epochs' is 0; it must be at least 1."),
        ({"rounds": -1}, "'rounds' is -1; it must be at least 0."),
        ({"episodes": 10**9}, "'episodes' is 1000000000; it must be at most 1000000."),
        ({"seed": -1}, "'seed' is -1; it must be at least 0"),
        ({"learning_rate": 0.0}, "'learning_rate' is 0.0; it must be greater than 0."),
        ({"held_out": 1.0}, "'held_out' is 1.0; it must be less than 1."),
    ],
)
def test_settings_that_mean_nothing_are_refused(settings, message):
    with pytest.raises(UserError, match=message):
        DistillConfig(**settings)


@pytest.mark.parametrize(
    ("epochs", "lessons", "passes"), [(7, 10, 7), (None, 256, 10_000), (None, 51_200, 50)]
)
def test_a_round_is_as_long_as_asked_or_ten_thousand_updates(epochs, lessons, passes):
    assert DistillConfig(epochs=epochs).passes(lessons) == passes


def test_ever_so_many_lessons_are_passed_once():
    assert DistillConfig().passes(10**8) == 1
