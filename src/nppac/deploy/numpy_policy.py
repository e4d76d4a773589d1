"""A policy that needs NumPy alone: one file of arrays, and a line of arithmetic per layer.

Nothing here imports JAX or an environment, so that the computer of a robot can act with it.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

import numpy as np

from nppac.utils.errors import UserError
from nppac.utils.files import read_arrays, write_arrays
from nppac.utils.json_reader import parse_json
from nppac.utils.text import shown

KIND = "policy"
"""What the file's `kind` says, where that of a reference names the reference."""
FORMAT = 1
TOO_LARGE = 1e30
"""Nothing within a network of float32 is so large unless the observation is nonsense."""
LONGEST_TASK, LONGEST_RECORD = 1000, 2**20
"""Characters."""
LAYER = ("weight", "bias")
"""What the names of a layer's two arrays begin with."""


@dataclass(frozen=True, eq=False, repr=False)
class NumpyPolicy:
    """a = tanh of a ReLU network of (s - centre) / spread; every array is float32."""

    centre: np.ndarray
    spread: np.ndarray
    weights: tuple[np.ndarray, ...]
    """One (inputs, outputs) matrix per layer."""
    biases: tuple[np.ndarray, ...]
    task: str
    """The task that it was made for."""
    record: Mapping[str, object] = field(default_factory=dict)
    """Where it comes from: the command, the commit, the run, and how well it does."""
    low: np.ndarray | None = None
    """(d), the environment's least value of each action; None where it is not known."""
    high: np.ndarray | None = None
    """(d), the environment's largest value of each action."""

    def __repr__(self) -> str:
        widths = " x ".join(str(width) for width in (self.obs_dim, *map(len, self.biases)))
        return f"NumpyPolicy(task {self.task!r}, {widths})"

    def __post_init__(self) -> None:
        widths = [self.centre.shape, *(bias.shape for bias in self.biases)]
        between = [(*i, *j) for i, j in pairwise(widths)]
        found = [weight.shape for weight in self.weights]
        if not found or self.centre.ndim != 1 or (self.spread.shape, found) != (widths[0], between):
            raise UserError(f"The layers do not fit one another: {found} with biases {widths[1:]}.")
        if any(len(width) != 1 or 0 in width for width in widths):
            raise UserError("A layer, or the observation, has no entries.")
        for name, array in self._named_arrays().items():
            if array.dtype != np.float32:
                raise UserError(f"'{name}' is of type {array.dtype}; it must be float32.")
            if not np.isfinite(array).all():
                raise UserError(f"'{name}' holds numbers that are not finite.")
        if not (self.spread > 0).all():
            raise UserError(f"'spread' is {self.spread.min():g} somewhere; it must be positive.")
        self._check_bounds(widths[-1])

    def _check_bounds(self, shape: tuple[int, ...]) -> None:
        """Both bounds or none; a range that overflows would send infinities to a motor."""
        if self.low is None or self.high is None:
            if self.low is not self.high:
                raise UserError("Of the bounds 'low' and 'high' one is missing.")
            return
        for bound in (self.low, self.high):
            if bound.shape != shape:
                raise UserError(f"The bounds {bound.shape} are not those of {shape} actions.")
        with np.errstate(over="ignore", invalid="ignore"):
            extent = np.subtract(self.high, self.low, dtype=np.float32)
        if not ((extent > 0) & (extent < TOO_LARGE)).all():
            raise UserError("The bounds 'low' and 'high' are no range of actions.")

    def _named_arrays(self) -> dict[str, np.ndarray]:
        """Every array of numbers by its name in the file."""
        layers = enumerate(zip(self.weights, self.biases, strict=True))
        named = {
            f"{name}_{i}": a for i, pair in layers for name, a in zip(LAYER, pair, strict=True)
        }
        bounds = {"low": self.low, "high": self.high}
        known = {name: bound for name, bound in bounds.items() if bound is not None}
        return {"centre": self.centre, "spread": self.spread, **named, **known}

    @property
    def obs_dim(self) -> int:
        """Length of an observation."""
        return len(self.centre)

    @property
    def action_dim(self) -> int:
        """Length of an action."""
        return len(self.biases[-1])

    def __call__(self, obs: object) -> np.ndarray:
        """Actions in [-1, 1]: of one observation (o,), or of each row of (n, o)."""
        with np.errstate(over="ignore", invalid="ignore"):
            return self._actions(_as_floats(obs))

    def _actions(self, x: np.ndarray) -> np.ndarray:
        if x.ndim not in (1, 2) or x.shape[-1] != self.obs_dim:
            raise UserError(
                f"The policy takes observations of {self.obs_dim} numbers, not of shape {x.shape}."
            )
        if not np.isfinite(x).all():  # no motor should be sent what follows from that
            raise UserError("The policy was given an observation that is not finite.")
        values = [(x - self.centre) / self.spread]
        for weight, bias in zip(self.weights[:-1], self.biases[:-1], strict=True):
            values.append(np.maximum(values[-1] @ weight + bias, 0.0))
        values.append(values[-1] @ self.weights[-1] + self.biases[-1])
        if not all((np.abs(value) < TOO_LARGE).all() for value in values):  # nor is NaN
            raise UserError(
                f"The policy was given an observation as large as {np.abs(x).max():g}, which "
                "overflows in its network. Check the sensor and its units."
            )
        return np.tanh(values[-1])

    def save(self, path: str | Path) -> None:
        """Write the arrays that docs/guide.md describes."""
        arrays = self._named_arrays()
        words = {"kind": KIND, "task": self.task, "record": json.dumps(dict(self.record))}
        write_arrays(
            path,
            {name: np.asarray(word) for name, word in words.items()}
            | {"format": np.asarray(FORMAT), "layers": np.asarray(len(self.weights))}
            # Row by row and little-endian, for readers that look at neither.
            | {name: np.ascontiguousarray(array, "<f4") for name, array in arrays.items()},
        )


def _as_floats(obs: object) -> np.ndarray:
    try:
        return np.asarray(obs, np.float32)
    except (TypeError, ValueError) as error:
        raise UserError(f"The policy takes observations of numbers: {error}.") from error


def kind_of(path: str | Path) -> str:
    """What a file says that it holds: such a policy, or a reference; refuses any other file."""
    kind = str(read_arrays(path).get("kind", ""))
    if not kind:
        raise UserError(
            f"{path} holds no policy. Give the directory of a run, or a file that `nppac distill` "
            "or `nppac fit` wrote."
        )
    return kind


def load_numpy_policy(path: str | Path) -> NumpyPolicy:
    """The policy that `nppac distill` wrote: call it with observations to have actions."""
    arrays = read_arrays(path, checked=True)
    kind = str(arrays.get("kind", "none"))
    if kind != KIND:
        raise UserError(
            f"{path} holds no distilled policy (its kind is {shown(kind)}). Give a file that "
            "`nppac distill` wrote."
        )
    if not np.array_equal(arrays.get("format", -1), FORMAT):
        raise UserError(f"{path} is a policy of another version of nppac. Distil it again.")
    try:
        return _policy_from(arrays)
    except (KeyError, UserError) as error:
        raise UserError(
            f"{path} does not hold a complete policy ({error}). Distil it again."
        ) from error


def _policy_from(arrays: Mapping[str, np.ndarray]) -> NumpyPolicy:
    count = arrays["layers"]
    if count.dtype.kind not in "iu" or count.shape != ():
        raise UserError("'layers' is no whole number")
    weights, biases = (tuple(arrays[f"{name}_{i}"] for i in range(int(count))) for name in LAYER)
    record = parse_json(_text(arrays, "record", LONGEST_RECORD), "'record'")
    if not isinstance(record, dict):
        raise UserError("'record' is no JSON object")
    ends, bounds = (arrays["centre"], arrays["spread"]), (arrays.get("low"), arrays.get("high"))
    task = _text(arrays, "task", LONGEST_TASK)
    return NumpyPolicy(*ends, weights, biases, task, record, *bounds)


def _text(arrays: Mapping[str, np.ndarray], name: str, longest: int) -> str:
    value = arrays[name]
    if value.dtype.kind != "U" or value.shape != () or value.itemsize > 4 * longest:
        raise UserError(f"'{name}' is no text of at most {longest:,} characters")
    return str(value)
