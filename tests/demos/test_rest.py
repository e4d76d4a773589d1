import numpy as np
import pytest

from nppac.demos import Demos
from nppac.demos.for_task import task_demos
from nppac.demos.rest import FALL, WINDOW, rest_begins, without_rest
from nppac.tasks import get_task
from nppac.types import Episode
from nppac.utils.errors import UserError

STEPS = 400


def episode(rests_at: int | None = None, moves_again: bool = False) -> Episode:
    """A cheetah that runs; from `rests_at` on it lies still but for a tremor."""
    rng = np.random.default_rng(0)
    phase = np.arange(STEPS + 1)[:, None] * 0.5 + np.arange(17)
    obs = np.sin(phase)
    if rests_at is not None:
        end = STEPS - WINDOW if moves_again else STEPS + 1
        obs[rests_at:end] = 1.0 + rng.normal(0.0, 0.02, (end - rests_at, 17))
    actions = np.zeros((STEPS, 6), np.float32)
    return Episode(obs.astype(np.float32), actions, rewards=np.ones(STEPS, np.float32))


@pytest.mark.parametrize("step", [200, 333])
def test_a_rest_is_found_where_it_begins(step):
    found = rest_begins(episode(step).observations)
    assert found is not None
    assert abs(found - step) < WINDOW // 2


@pytest.mark.parametrize(
    "running", [episode(), episode(200, moves_again=True)], ids=["all along", "again at the end"]
)
def test_whoever_runs_at_the_end_does_not_rest(running):
    assert rest_begins(running.observations) is None


def test_too_few_steps_tell_nothing():
    assert rest_begins(np.zeros((WINDOW - 1, 3))) is None


def test_what_led_to_the_rest_is_cut_too():
    demos = Demos((episode(), episode(300)))
    kept, notes = without_rest(demos)
    lengths = [len(e) for e in kept.episodes]
    assert lengths[0] == STEPS
    assert abs(lengths[1] - (300 - FALL)) < WINDOW // 2
    assert "1 of 2 demonstrations end at rest" in notes[0]
    assert not kept.episodes[1].terminated


def test_an_episode_that_rests_from_its_start_is_left_out():
    kept, _ = without_rest(Demos((episode(), episode(20))))
    assert len(kept) == 1


def test_demonstrators_that_never_move_are_refused():
    with pytest.raises(UserError, match="All 2 demonstrations lie still within"):
        without_rest(Demos((episode(20), episode(30))))


def test_nothing_is_cut_from_those_who_run():
    demos = Demos((episode(), episode()))
    assert without_rest(demos) == (demos, [])


def test_only_tasks_that_ask_for_motion_cut(capsys):
    demos = Demos((episode(), episode(300)))
    assert task_demos(get_task("halfcheetah"), demos, "d.npz").steps < demos.steps
    assert "end at rest" in capsys.readouterr().err
    assert task_demos(get_task("walker2d"), demos, "d.npz").steps == demos.steps


def test_demonstrated_angles_are_wrapped_like_the_environments():
    turned = episode()
    turned.observations[:, 1] += 4 * np.pi
    found = task_demos(get_task("halfcheetah"), Demos((turned,)), "d.npz")
    np.testing.assert_allclose(found.obs[:, 1], episode().observations[:-1, 1], atol=1e-5)
    assert turned.observations[:, 1].min() > 4.0 * np.pi - 2.0  # the file's own are left alone
