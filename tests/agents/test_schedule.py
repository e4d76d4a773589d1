import pytest

from nppac.agents.schedule import Schedule
from nppac.utils.errors import UserError


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"steps": 0}, "'steps' is 0; it must be at least 1"),
        ({"epoch_steps": 0}, "'epoch_steps' is 0"),
        ({"batch_size": 0}, "'batch_size' is 0"),
        ({"eval_envs": 0}, "'eval_envs' is 0"),
        ({"pretrain_batch_size": 0}, "'pretrain_batch_size' is 0"),
        ({"updates_per_step": -1.0}, "'updates_per_step' is -1.0; it must be at least 0"),
        ({"updates_per_step": float("nan")}, "'updates_per_step' is nan"),
        (
            {"epoch_steps": 5, "updates_per_step": 0.1},
            "'updates_per_step' is 0.1, which is less than one update in an epoch of 5 steps",
        ),
        ({"warmup_steps": -1}, "'warmup_steps' is -1"),
        ({"pretrain_epochs": -3}, "'pretrain_epochs' is -3"),
        ({"pretrain_copies": -1}, "'pretrain_copies' is -1"),
        ({"steps": 1_500}, "'steps' is 1500.*multiple of the epoch, 1000 steps"),
        ({"eval_every": 10}, "'eval_every' is 10.*change 'epoch_steps'"),
        ({"checkpoint_every": 0}, "'checkpoint_every' is 0"),
        ({"replay_capacity": 500}, "'replay_capacity' is 500, less than one epoch of 1000"),
    ],
)
def test_a_schedule_that_cannot_be_kept_is_refused(settings, message):
    with pytest.raises(UserError, match=message):
        Schedule(**settings)


def test_epochs_and_updates_of_a_schedule():
    schedule = Schedule(steps=5_000, epoch_steps=500, updates_per_step=0.5)
    assert (schedule.epochs, schedule.updates_per_epoch) == (10, 250)
