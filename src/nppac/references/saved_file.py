"""The arrays of a saved reference, asked for by name; whatever is damaged is refused by its name.

A checksum tells of accidents alone: a stranger's file has one that fits.
"""

from collections.abc import Mapping

import numpy as np
from jaxtyping import Float

from nppac.utils.errors import UserError
from nppac.utils.json_reader import parse_json


class SavedFile:
    """Arrays, and `what` they are to make."""

    def __init__(self, arrays: Mapping[str, np.ndarray], what: str):
        self._arrays, self._what = arrays, what

    def numbers(self, name: str) -> Float[np.ndarray, "..."]:
        """Finite floating-point numbers, of the type that they are stored in."""
        value = self.array(name)
        if value.dtype.kind != "f":
            raise self.damaged(name, f"holds {value.dtype}, expected floating-point numbers")
        if not np.isfinite(value).all():
            raise self.damaged(name, "has entries that are not finite")
        return value

    def shaped(self, name: str, shape: tuple[int, ...]) -> Float[np.ndarray, "..."]:
        """Numbers of a given shape."""
        value = self.numbers(name)
        self.check_shape(name, value, shape)
        return value

    def check_shape(self, name: str, value: np.ndarray, shape: tuple[int, ...]) -> None:
        """Refuse another shape."""
        if value.shape != shape:
            raise self.damaged(name, f"has shape {value.shape}, expected {shape}")

    def json(self, name: str) -> dict[str, object]:
        """A JSON object."""
        text = self.text(name)
        try:
            value = parse_json(text, name)
        except UserError as error:
            raise self.damaged(name, "is not JSON") from error
        if not isinstance(value, dict):
            raise self.damaged(name, "is not a JSON object")
        return value

    def text(self, name: str) -> str:
        """A text."""
        value = self.array(name)
        if value.dtype.kind != "U" or value.shape != ():
            raise self.damaged(name, "is not a text")
        return str(value)

    def array(self, name: str) -> np.ndarray:
        """What is stored under a name."""
        if name not in self._arrays:
            raise self.damaged(name, "is missing")
        return self._arrays[name]

    def __contains__(self, name: object) -> bool:
        return name in self._arrays

    def damaged(self, name: str, how: str) -> UserError:
        """The error for an array that is not as it should be."""
        return UserError(f"The saved {self._what} is damaged: '{name}' {how}. Fit it again.")
