import numpy as np
import pytest

from nppac.deploy.dataset import (
    LabelledStates,
    joined,
    label_states,
    labelled_states,
    split,
    stretches,
)


def numbered(count):
    """Lessons whose states tell which they are."""
    rows = np.arange(count, dtype=np.float32)[:, None]
    return LabelledStates(rows, -rows)


def test_actions_are_what_an_environment_would_take():
    lessons = labelled_states(np.zeros((3, 1), np.float32), np.array([[-2.0], [0.5], [1.5]]))
    assert lessons.actions.dtype == np.float32
    assert lessons.actions.tolist() == [[-1.0], [0.5], [1.0]]
    assert len(lessons) == 3


def test_the_teacher_is_asked_about_every_state_in_chunks_of_few_shapes():
    shapes = set()

    def teacher(obs):
        shapes.add(obs.shape)
        return obs / 5000

    lessons = label_states(numbered(2500).obs, teacher)
    np.testing.assert_allclose(lessons.actions, numbered(2500).obs / 5000)
    assert len(shapes) == 1


def test_stretches_are_the_lessons_in_order():
    pieces = stretches(numbered(250))
    assert [len(piece) for piece in pieces] == [100, 100, 50]
    np.testing.assert_array_equal(joined(pieces).obs, numbered(250).obs)


def test_pieces_are_held_out_whole():
    pieces = stretches(numbered(2000))
    kept, tested = split(pieces, 0.1, np.random.default_rng(0))
    assert (len(kept), len(tested)) == (18, 2)
    seen = np.concatenate([joined(kept).obs, joined(tested).obs])
    assert sorted(seen[:, 0].tolist()) == list(range(2000))
    assert all(np.ptp(piece.obs) == 99 for piece in tested)


@pytest.mark.parametrize(("count", "sizes"), [(200, (1, 1)), (50, (1, 0))])
def test_one_piece_is_always_learned_from_and_a_second_tested_on(count, sizes):
    kept, tested = split(stretches(numbered(count)), 0.1, np.random.default_rng(0))
    assert (len(kept), len(tested)) == sizes
