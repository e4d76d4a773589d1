"""The checks themselves: without them, the annotations of the package would go unread."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pytest
from jaxtyping import Float

from nppac.nn.mlp import MLP
from nppac.utils.text import brief
from type_checker import checked

Row = Float[np.ndarray, " n"]


@checked
def product(x: Float[np.ndarray, "n d"], y: Float[np.ndarray, " d"] | None) -> Row:
    return np.zeros(len(x)) if y is None else x @ y


@checked
def cut(rows: Row) -> Row:
    return rows[:1]


@checked
def half(number: float, kind: Literal["up", "down"] = "up") -> float:
    return number / 2 if kind == "up" else "down"  # pyright: ignore[reportReturnType]


@checked
def named(number: "float", rows: "Row | None" = None) -> "float":
    return number


@checked
def counted(rows: list[Row]) -> Iterator[int]:
    yield from range(len(rows))


@checked
@dataclass(frozen=True)
class Pair:
    first: Row
    second: Row


@checked
class Named(Pair):
    """Not a dataclass of its own."""


def test_what_is_annotated_passes():
    assert product(np.zeros((3, 2)), np.zeros(2)).shape == (3,)
    assert product(np.zeros((3, 2)), None).shape == (3,)
    assert product(np.zeros((4, 5)), np.zeros(5)).shape == (4,)
    assert half(1) == 0.5
    assert named(1) == 1
    assert list(counted([np.zeros(2)])) == [0]
    assert len(cut(np.zeros(1))) == 1
    assert len(Named(np.zeros(2), np.zeros(2)).first) == 2


@pytest.mark.parametrize(
    "call",
    [
        lambda: product(np.zeros((3, 2)), np.zeros(3)),
        lambda: product(np.zeros(3), None),
        lambda: product(np.zeros((3, 2), int), None),
        lambda: cut(np.zeros(2)),
        lambda: half("one"),
        lambda: half(1.0, "sideways"),
        lambda: half(1.0, "down"),
        lambda: named("one"),
        lambda: named(1.0, np.zeros((2, 2))),
        lambda: counted([np.zeros((2, 2))]),
        lambda: counted(3),
        lambda: Pair(np.zeros(2), np.zeros(3)),
        lambda: Named(np.zeros(2), np.zeros(3)),
        lambda: Named(np.zeros(2), "second"),
    ],
)
def test_what_is_not_is_refused(call):
    with pytest.raises(Exception, match=r"violate|Type-check error"):
        call()


def test_the_package_is_checked():
    assert hasattr(MLP.__init__, "__checked__")
    with pytest.raises(Exception, match="violate"):
        brief("no error")  # pyright: ignore[reportArgumentType]
