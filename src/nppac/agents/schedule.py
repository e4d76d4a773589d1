"""How long a run lasts, and how often it does what."""

from typing import Annotated

from pydantic import Field

from nppac.utils.errors import UserError
from nppac.utils.settings import (
    Count,
    NaturalNumber,
    NonNegative,
    PositiveFraction,
    Several,
    Size,
    settings,
)

MOST_UPDATES = 10**8
"""Gradient steps of an epoch."""


@settings
class Schedule:
    """How long and how often, in environment steps unless said otherwise."""

    steps: Count = 50_000
    """Environment steps of the whole run."""
    epoch_steps: Count = 1_000
    """Environment steps collected before each round of updates."""
    updates_per_step: Annotated[NonNegative, Field(le=1000)] = 1.0
    """Gradient steps per environment step."""
    warmup_steps: NaturalNumber = 1_000
    """Environment steps of the first epochs, which collect but do not update."""
    batch_size: Size = 256
    """Transitions in a minibatch."""
    replay_capacity: Annotated[Count, Field(le=10**9)] = 1_000_000
    """Transitions kept; the oldest are overwritten."""
    random_steps: NaturalNumber = 0
    """Environment steps of the first epochs, which act uniformly at random."""
    demos_in_replay: bool = False
    """Put the demonstrations, which need rewards then, into the replay before the first step."""
    offline_updates: NaturalNumber = 0
    """Gradient steps on the demonstrations alone before the first environment step."""
    pretrain_epochs: NaturalNumber = 0
    """Passes over the demonstrations in which the policy is pulled to the reference; one that has
    no reference clones the actions."""
    pretrain_batch_size: Size = 64
    """States in a minibatch of pretraining."""
    pretrain_copies: Annotated[NaturalNumber, Field(le=10**6)] = 0
    """Noisy copies of each demonstrated state to pretrain on too; the reference labels them."""
    pretrain_spread: NonNegative = 0.3
    """Noise of those copies, in standard deviations of each observation."""
    eval_every: Count = 5_000
    """Environment steps between evaluations; one is made before the first step too."""
    eval_episodes: Size = 10
    """Episodes of each evaluation."""
    eval_envs: Several = 16
    """Environments that an evaluation steps side by side, at most `eval_episodes`; policy and
    reference answer for all of them at once."""
    checkpoint_every: Count = 10_000
    """Environment steps between checkpoints."""
    train_episode_steps: Count | None = None
    """Cut training episodes at so many steps, a truncation; evaluations are not cut."""
    challenges: Annotated[NaturalNumber, Field(le=1000)] = 0
    """Tests against the incumbent, spread over the run, of the policy that was evaluated best since
    the last; 0 makes none."""
    challenge_episodes: Size = 100
    """Most episodes of such a test."""
    error_rate: PositiveFraction = 0.05
    """Chance that all tests together ever promote a policy that is no better."""
    final_episodes: Annotated[NaturalNumber, Field(le=10**6)] = 0
    """Fresh episodes at the end, for the reference's mean and for the run's policy."""

    def __post_init__(self) -> None:
        for name in ("steps", "eval_every", "checkpoint_every"):
            value = getattr(self, name)
            if value % self.epoch_steps:
                raise UserError(
                    f"'{name}' is {value}; it must be a positive multiple of the epoch, "
                    f"{self.epoch_steps} steps (change 'epoch_steps' to allow others)."
                )
        if self.replay_capacity < self.epoch_steps:
            raise UserError(
                f"'replay_capacity' is {self.replay_capacity}, less than one epoch of "
                f"{self.epoch_steps} steps."
            )
        if self.updates_per_step > 0 and self.updates_per_epoch == 0:
            raise UserError(
                f"'updates_per_step' is {self.updates_per_step}, which is less than one update in "
                f"an epoch of {self.epoch_steps} steps. Give more of either."
            )
        if self.updates_per_epoch > MOST_UPDATES:
            raise UserError(
                f"'updates_per_step' is {self.updates_per_step}: an epoch of {self.epoch_steps} "
                f"steps would have more than {MOST_UPDATES:,} updates. Give less of either."
            )

    @property
    def epochs(self) -> int:
        """Rounds of collecting and updating."""
        return self.steps // self.epoch_steps

    @property
    def updates_per_epoch(self) -> int:
        """Gradient steps in each round."""
        return round(self.epoch_steps * self.updates_per_step)
