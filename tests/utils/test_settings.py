from dataclasses import dataclass, field
from typing import Literal

import pytest

from nppac.utils.errors import UserError
from nppac.utils.settings import Count, Fraction, plain_settings, read_settings, settings


@settings
class Inner:
    kernel: Literal["rbf", "matern"] = "rbf"
    widths: tuple[Count, ...] = (8,)


@settings
class Outer:
    count: Count = 1
    tau: Fraction = 0.5
    inner: Inner = field(default_factory=Inner)
    most: Count | None = None


@dataclass(frozen=True)
class Plain:
    a: float = 1.0


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"tau": 2}, r"'tau' is 2; it must be at most 1"),
        ({"cuont": 2}, r"Unknown setting 'cuont'\. Did you mean 'count'\? Known: count, inner"),
        ({"count": "1"}, r"'count' is '1'; it must be a whole number\."),
        ({"count": True}, r"'count' is True; it must be a whole number\."),
        (
            {"count": 10**400},
            r"'count' is a number of 401 digits; it must be at most 10+\.",
        ),
        ({"most": "x"}, r"'most' is 'x'; it must be a whole number\."),
        (
            {"inner": {"kernle": 1}},
            r"'inner\.kernle'\. Did you mean 'inner\.kernel'",
        ),
        ({"inner": {"kernel": "rbff"}}, r"'inner\.kernel' is 'rbff'.*Did you mean 'rbf'\?"),
        ({"inner": {"widths": [8, 0]}}, r"'inner\.widths\.1' is 0; it must be at least 1"),
        ({"inner": 5}, r"'inner' is 5; it must be an object with settings\."),
        (5, r"It is 5; it must be an object with settings\."),
    ],
)
def test_a_mistake_in_data_names_the_place_and_the_setting(values, message):
    with pytest.raises(UserError, match=message) as caught:
        read_settings(Outer, values, "FILE")
    assert str(caught.value).startswith("FILE: ")


def test_a_plain_dataclass_refuses_what_it_does_not_know():
    assert read_settings(Plain, {"a": 2}, "FILE") == Plain(2.0)
    with pytest.raises(UserError, match="Unknown setting 'b'"):
        read_settings(Plain, {"b": 2}, "FILE")


def test_data_come_back():
    made = Outer(count=3, inner=Inner(widths=(1, 2)))
    assert read_settings(Outer, plain_settings(made), "FILE") == made
    assert read_settings(Outer, {"count": 1e5}, "FILE").count == 100_000


def test_a_setting_given_by_position_is_named_by_its_field():
    with pytest.raises(UserError, match="'tau' is 2; it must be at most 1"):
        Outer(1, 2)
