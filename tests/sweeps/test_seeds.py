import pytest

from nppac.sweeps.seeds import parse_seeds, refuse_overlap
from nppac.utils.errors import UserError


@pytest.mark.parametrize(
    ("given", "seeds"),
    [("0..4", (0, 1, 2, 3, 4)), ("7", (7,)), ("0, 3,8..9", (0, 3, 8, 9)), ([2, 0], (2, 0))],
)
def test_seeds(given, seeds):
    assert parse_seeds(given) == seeds


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("4..0", "must rise"),
        ("0..5000", "at most 1,000 seeds"),
        ("a..b", "write 0..4"),
        ("", "write 0..4"),
        (5, "write 0..4"),
        ([], "is empty"),
        ([True], "write 0..4"),
        ([1, 1], "names 1 twice"),
        ([-1], "at least 0"),
        ([2**32], "less than 2"),
    ],
)
def test_mistakes_name_the_key(given, message):
    with pytest.raises(UserError, match=message) as error:
        parse_seeds(given, "plan.yaml: 'seeds'")
    assert str(error.value).startswith("plan.yaml: 'seeds'")


def test_seeds_that_chose_may_not_judge():
    refuse_overlap((100, 101), (0, 1), "plan")
    with pytest.raises(UserError, match="the seeds 1 chose the settings"):
        refuse_overlap((1, 100), (0, 1), "plan")
