import pytest

from nppac.deploy.config import DistillConfig
from nppac.utils.errors import UserError


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"hidden": (8, 0)}, "width of a hidden layer"),
        ({"episodes": 1}, "'episodes' is 1; it must be at least 2: one is only tested on."),
        ({"epochs": 0}, "'epochs' is 0; it must be at least 1."),
        ({"rounds": -1}, "'rounds' is -1; it must be 0 or more."),
        ({"seed": -1}, "'seed' is -1; it must be at least 0"),
        ({"learning_rate": 0.0}, "'learning_rate' is 0.0; it must be positive."),
        ({"held_out": 1.0}, "'held_out' is 1.0; it must be between 0 and 1."),
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
