"""Settings of every reference that is a network."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Literal, NamedTuple

from nppac.utils.settings import (
    Count,
    Finite,
    NonNegative,
    OpenFraction,
    Positive,
    Seed,
    Several,
    Size,
    Widths,
    settings,
)

NetworkFamily = Literal["normal", "laplace"]
TINY_VARIANCE = 1e-8
"""Least variance even without a floor: float32 must be able to divide by it."""
_OPTIONAL = {"family": "normal", "entropy_bonus": 0.0, "tikhonov": 0.0}
"""What each setting that a reference's name may decide is where neither it nor the user does."""


@settings
class NetworkConfig:
    """How to fit networks to demonstrations: means by squared error, variances by likelihood.

    A setting that is None is the reference's own, such as a Laplace density for `laplace`.
    """

    hidden: Widths = (256, 256)
    """Width of each hidden layer, of the mean's network and of the variance's."""
    family: NetworkFamily | None = None
    """Density of the action: Gaussian or Laplace. By default what the reference's name says."""
    variance_floor: NonNegative = 1e-2
    """Least predictive variance of an action; 0 leaves only a guard of 1e-8."""
    entropy_bonus: NonNegative | Literal["tuned"] | None = None
    """Weight β of the entropy bonus; `tuned` begins at 1 and meets the entropy target."""
    entropy_target: Finite = -1.0
    """Entropy that a tuned β aims at, in nats per dimension of the action."""
    entropy_step: Positive = 1e-2
    """Step of a tuned β per gradient step, for each nat per action that the entropy is off."""
    tikhonov: NonNegative | None = None
    """Weight λ of the squared parameters λψᵀψ; a coupled weight decay w is λ = w/2."""
    learning_rate: Positive = 3e-3
    """Learning rate of Adam in the first epoch; it falls to 0 along half a cosine."""
    batch_size: Size = 256
    """Demonstration steps in a minibatch."""
    max_epochs: Size = 150
    """Most passes over the training part of the demonstrations."""
    patience: Count = 50
    """Stop after so many epochs in which neither mean nor variance got better at validation."""
    validation_fraction: OpenFraction = 0.1
    """Part of the demonstrations that is kept for validation."""
    members: Several = 15
    """Networks of an ensemble."""
    seed: Seed = 0
    """Seed of the initial weights, of the validation split and of the minibatches."""

    @property
    def floor(self) -> float:
        """Least variance in force."""
        return max(self.variance_floor, TINY_VARIANCE)

    @property
    def objective(self) -> "ObjectiveSettings":
        """The settings that a compiled program depends on, so that all seeds share one."""
        bonus = self.entropy_bonus or 0.0
        return ObjectiveSettings(
            hidden=self.hidden,
            family=self.family or "normal",
            floor=self.floor,
            tuned=bonus == "tuned",
            bonus=1.0 if isinstance(bonus, str) else bonus,
            entropy_target=self.entropy_target,
            entropy_step=self.entropy_step,
            tikhonov=self.tikhonov or 0.0,
        )


class ObjectiveSettings(NamedTuple):
    """What training minimises, with every default filled in."""

    hidden: Widths
    family: NetworkFamily
    floor: float
    tuned: bool
    bonus: float
    """β of the entropy bonus, or what a tuned one begins at."""
    entropy_target: float
    entropy_step: float
    tikhonov: float


def resolve(config: NetworkConfig, defaults: Mapping[str, object]) -> NetworkConfig:
    """`config` with the reference's own `defaults` where the user left a setting out."""
    given = {name: getattr(config, name) for name in _OPTIONAL}
    chosen = {
        name: defaults.get(name, _OPTIONAL[name]) if value is None else value
        for name, value in given.items()
    }
    return replace(config, **chosen)


def migrate_network_settings(fields: Mapping[str, object]) -> dict[str, object]:
    """Plain settings as this version reads them, from files of any version.

    Before `members` there was no None: a Gaussian, β = 0 and λ = 0 were also what a user had
    left out. Still earlier, no entropy target meant -1 per dimension of the action.
    """
    kept = dict(fields)
    if kept.get("entropy_target", 0.0) is None:
        del kept["entropy_target"]
    if "members" not in kept:
        kept |= {name: None for name in _OPTIONAL if kept.get(name) == _OPTIONAL[name]}
    return kept
