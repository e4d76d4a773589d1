import numpy as np
import pytest

from anchored_run import CAPACITY, write_anchored_run
from nppac.deploy.teacher import load_teacher
from nppac.utils.errors import UserError
from toy_task import state_of


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return write_anchored_run(tmp_path_factory.mktemp("runs") / "anchored")


def test_the_lessons_of_the_replay_are_what_the_policy_does_there(run):
    teacher, stored = load_teacher(run, 1000), state_of(run)
    assert len(teacher.replayed) == CAPACITY
    expected = np.clip(teacher.act(teacher.replayed.obs), -1, 1)
    np.testing.assert_allclose(teacher.replayed.actions, expected, atol=1e-5)
    loc = np.roll(stored["replay/.reference.loc"], -int(stored["replay/position"]), axis=0)
    assert np.abs(expected - loc).max() > 0.1  # the correction is in them


def test_only_the_newest_states_are_taken_and_none_if_none_are_wanted(run):
    everything, newest = load_teacher(run, 1000).replayed, load_teacher(run, 7).replayed
    np.testing.assert_array_equal(newest.obs, everything.obs[-7:])
    assert len(load_teacher(run, 0).replayed) == 0


def test_a_file_is_no_run(run):
    with pytest.raises(UserError, match=r"reference\.npz is a file; give the directory of a run"):
        load_teacher(run / "reference.npz", 10)
