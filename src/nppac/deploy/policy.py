"""A policy in the units of its environment, wherever it comes from. Needs NumPy alone."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from nppac.deploy.numpy_policy import load_numpy_policy
from nppac.utils.errors import UserError, nearest_path


@dataclass(frozen=True, eq=False, repr=False)
class EnvironmentPolicy:
    """A deterministic policy: observations to actions that the environment takes as they are.

    a = low + (high - low) (u + 1) / 2, where u in [-1, 1] is what `act` says.
    """

    act: Callable[[np.ndarray], np.ndarray]
    """Observations (n, o) to actions (n, d) in [-1, 1], as training has them."""
    low: np.ndarray
    """(d), least value of each action."""
    high: np.ndarray
    """(d), largest value of each action."""
    obs_dim: int
    task: str
    """The task that it was made for."""
    source: str = ""
    """The directory or the file that it was read from."""
    record: Mapping[str, object] = field(default_factory=dict)
    """What its file says of where it comes from."""

    @property
    def action_dim(self) -> int:
        """Length of an action."""
        return len(self.low)

    def __call__(self, obs: np.ndarray) -> np.ndarray:
        """The action at one observation (o,), or at each row of (n, o)."""
        rows = np.asarray(obs, np.float32)
        if rows.ndim not in (1, 2) or rows.shape[-1] != self.obs_dim:
            raise UserError(
                f"The policy takes observations of {self.obs_dim} numbers, not of shape "
                f"{rows.shape}."
            )
        if not np.isfinite(rows).all():  # no motor should be sent what follows from that
            raise UserError("The policy was given an observation that is not finite.")
        unit = np.clip(np.asarray(self.act(np.atleast_2d(rows)), np.float32), -1.0, 1.0)
        actions = in_units(unit, self.low, self.high)
        return actions[0] if rows.ndim == 1 else actions

    def __repr__(self) -> str:
        shape = f"{self.obs_dim} observations, {self.action_dim} actions"
        origin = f", from {self.source}" if self.source else ""
        return f"EnvironmentPolicy(task {self.task!r}, {shape}{origin})"


def in_units(unit: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Actions in [-1, 1] as actions within the bounds; those within ±1 stay bit for bit."""
    plain = np.all(low == -1.0) and np.all(high == 1.0)
    return unit if plain else low + (high - low) * (unit + np.float32(1.0)) / np.float32(2.0)


def in_unit_box(actions: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Actions within the bounds as actions in [-1, 1]: the inverse of `in_units`."""
    plain = np.all(low == -1.0) and np.all(high == 1.0)
    return actions if plain else 2.0 * (actions - low) / (high - low) - 1.0


def load_policy(path: str | Path, *, trust: bool = False) -> EnvironmentPolicy:
    """The policy of a run's directory, or of a file that `nppac distill` wrote.

    Either way its actions are in the environment's units. A file needs NumPy alone; of a file that
    knows no bounds they are -1 and 1. `trust` lets a run that was made elsewhere import the
    modules that it names.
    """
    path = Path(path)
    if not path.exists():
        raise UserError(f"There is no run directory or policy file {path}.{nearest_path(path)}")
    if path.is_dir():
        from nppac.deploy.acting import run_policy  # with JAX and the simulator

        return run_policy(path, trust=trust)
    plain = load_numpy_policy(path)
    one = np.ones(plain.action_dim, np.float32)
    low, high = (-one, one) if plain.low is None or plain.high is None else (plain.low, plain.high)
    return EnvironmentPolicy(
        plain, low, high, plain.obs_dim, plain.task, str(path), record=plain.record
    )
