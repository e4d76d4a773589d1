"""Settings of every reference that is a network."""

from dataclasses import dataclass, replace
from typing import Literal, get_args

from nppac.utils.errors import UserError, check_seed, unknown_name

NetworkFamily = Literal["normal", "laplace"]
TINY_VARIANCE = 1e-8
"""Least variance even without a floor: float32 must be able to divide by it."""


@dataclass(frozen=True)
class NetworkConfig:
    """How to fit a network π0(a|s) to demonstrations by maximum likelihood."""

    hidden: tuple[int, ...] = (256, 256)
    """Width of each hidden layer."""
    family: NetworkFamily = "normal"
    """Density of the action: Gaussian or Laplace."""
    variance_floor: float = 1e-2
    """Least predictive variance of an action; 0 leaves only a guard of 1e-8."""
    entropy_bonus: float | Literal["tuned"] = 0.0
    """Weight β of the entropy bonus; `tuned` begins at 1 and meets the entropy target."""
    entropy_target: float = -1.0
    """Entropy that a tuned β aims at, in nats per dimension of the action."""
    entropy_step: float = 1e-2
    """Step of a tuned β per gradient step, for each nat per action that the entropy is off."""
    tikhonov: float = 0.0
    """Weight λ of the squared parameters λψᵀψ; a coupled weight decay w is λ = w/2."""
    learning_rate: float = 3e-4
    """Learning rate of Adam."""
    batch_size: int = 64
    """Demonstration steps in a minibatch."""
    max_epochs: int = 500
    """Most passes over the training part of the demonstrations."""
    patience: int = 50
    """Stop after so many epochs without a better validation likelihood."""
    validation_fraction: float = 0.2
    """Part of the demonstrations that is kept for validation."""
    seed: int = 0
    """Seed of the initial weights, of the validation split and of the minibatches."""

    def __post_init__(self) -> None:
        check_seed(self.seed)
        if self.family not in get_args(NetworkFamily):
            raise unknown_name("family of a network", self.family, get_args(NetworkFamily))
        if isinstance(self.entropy_bonus, str) and self.entropy_bonus != "tuned":
            raise unknown_name("entropy bonus", self.entropy_bonus, ("tuned",))
        for name in ("learning_rate", "batch_size", "max_epochs", "patience", "entropy_step"):
            self._require(name, getattr(self, name) > 0, "positive")
        for name in ("variance_floor", "tikhonov"):
            self._require(name, 0 <= getattr(self, name) < float("inf"), "finite and at least 0")
        self._require("hidden", all(width > 0 for width in self.hidden), "positive")
        self._require("validation_fraction", 0 < self.validation_fraction < 1, "between 0 and 1")
        self._require("entropy_bonus", self.tuned or self.initial_bonus >= 0, "at least 0")

    def _require(self, name: str, holds: bool, expectation: str) -> None:
        if not holds:
            value = getattr(self, name)
            raise UserError(f"NetworkConfig.{name} is {value}; it must be {expectation}.")

    @property
    def floor(self) -> float:
        """Least variance in force."""
        return max(self.variance_floor, TINY_VARIANCE)

    @property
    def tuned(self) -> bool:
        """Whether β is tuned."""
        return self.entropy_bonus == "tuned"

    @property
    def initial_bonus(self) -> float:
        """The β that training begins with."""
        return 1.0 if isinstance(self.entropy_bonus, str) else float(self.entropy_bonus)

    def compiled(self) -> "NetworkConfig":
        """The settings that a compiled epoch depends on, so that all seeds share one program."""
        return replace(self, seed=0, max_epochs=1, patience=1, validation_fraction=0.5)

    @classmethod
    def from_json(cls, fields: dict) -> "NetworkConfig":
        """The settings that JSON keeps, which knows no tuples."""
        return cls(**{**fields, "hidden": tuple(fields["hidden"])})
