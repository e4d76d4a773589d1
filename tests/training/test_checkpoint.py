import shutil
from dataclasses import replace

import jax
import numpy as np
import pytest

from nppac.agents.replay import empty_replay, insert
from nppac.training.checkpoint import (
    load_checkpoint,
    load_state,
    load_visited,
    newest_readable,
    save_checkpoint,
)
from nppac.utils.errors import UserError
from nppac.utils.files import read_arrays, write_arrays
from toy_task import ACTION_DIM, AGENT, OBS_DIM

from .checkpoints import (
    KEY,
    PROGRESS,
    batch,
    fresh_state,
    load_checkpoint_epoch,
    newest,
    ring,
    trained_state,
)


def assert_equal(left, right):
    assert jax.tree.structure(left) == jax.tree.structure(right)
    for a, b in zip(jax.tree.leaves(left), jax.tree.leaves(right), strict=True):
        assert a.dtype == b.dtype
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("lengths", [(), (5,), (8,), (8, 3)])
def test_everything_comes_back(tmp_path, lengths):
    path, state = tmp_path / "checkpoint.npz", trained_state()
    save_checkpoint(path, PROGRESS, state, ring(8, *lengths))
    progress, found, replay, _ = load_checkpoint(
        path, fresh_state(), empty_replay(8, OBS_DIM, ACTION_DIM)
    )
    assert progress == PROGRESS
    assert_equal(found, state)
    assert_equal(replay, ring(8, *lengths))
    assert_equal(load_state(path, fresh_state()), state)


def rewards(replay):
    return np.asarray(replay.storage.reward[: int(replay.size)]).tolist()


@pytest.mark.parametrize("lengths", [(5,), (8,), (8, 3)])
def test_a_longer_run_gets_a_larger_ring_without_empty_rows(tmp_path, lengths):
    """A ring that was full must grow at its end, not over its oldest rows."""
    path = tmp_path / "checkpoint.npz"
    save_checkpoint(path, PROGRESS, trained_state(), ring(8, *lengths))
    *_, replay, _ = load_checkpoint(path, fresh_state(), empty_replay(16, OBS_DIM, ACTION_DIM))
    total = sum(lengths)
    kept = list(range(max(1, total - 7), total + 1))
    assert rewards(replay) == kept
    replay = insert(replay, batch(100, 6))
    assert rewards(replay) == [*kept, *range(100, 106)]
    replay = insert(replay, batch(200, 6))
    assert sorted(rewards(replay)) == [*kept, *range(100, 106), *range(200, 206)][-16:]
    assert 0.0 not in rewards(replay)


def test_a_smaller_ring_keeps_the_newest(tmp_path):
    path = tmp_path / "checkpoint.npz"
    save_checkpoint(path, PROGRESS, trained_state(), ring(8, 8, 3))
    *_, replay, _ = load_checkpoint(path, fresh_state(), empty_replay(4, OBS_DIM, ACTION_DIM))
    assert rewards(replay) == [8, 9, 10, 11]
    assert rewards(insert(replay, batch(100, 1))) == [100, 9, 10, 11]


def test_another_agent_is_refused(tmp_path):
    path = tmp_path / "checkpoint.npz"
    save_checkpoint(path, PROGRESS, trained_state(), ring(8, 5))
    wider = replace(AGENT, policy_hidden=(9,)).init(KEY, OBS_DIM, ACTION_DIM)
    with pytest.raises(UserError, match=r"policy.*expected shape \(3, 9\), found \(3, 8\)"):
        load_state(path, wider)
    deeper = replace(AGENT, policy_hidden=(8, 8)).init(KEY, OBS_DIM, ACTION_DIM)
    with pytest.raises(UserError, match="does not fit this agent"):
        load_state(path, deeper)


@pytest.mark.parametrize("arrays", [{}, {"format": np.array(0)}, {"observations": np.zeros(3)}])
def test_another_file_is_refused(tmp_path, arrays):
    write_arrays(tmp_path / "a.npz", arrays)
    with pytest.raises(UserError, match=r"a\.npz is not a checkpoint"):
        load_state(tmp_path / "a.npz", fresh_state())


def test_only_filled_rows_are_stored(tmp_path):
    path = tmp_path / "checkpoint.npz"
    save_checkpoint(path, PROGRESS, trained_state(), ring(1000, 5))
    replay = {k: v for k, v in read_arrays(path).items() if k.startswith("replay/.")}
    assert {len(array) for array in replay.values()} == {5}
    assert len(replay) == 10


@pytest.mark.parametrize(
    ("lengths", "rows"), [((), []), ((5,), [1, 2, 3, 4, 5]), ((8, 3), [4, 5, 6, 7, 8, 9, 10, 11])]
)
def test_visited_states_come_oldest_first_with_the_references_answers(tmp_path, lengths, rows):
    save_checkpoint(tmp_path / "c.npz", PROGRESS, fresh_state(), ring(8, *lengths))
    obs, stats = load_visited(tmp_path / "c.npz")
    assert obs[:, 0].tolist() == stats.loc[:, 0].tolist() == rows
    assert stats.scale.shape == (len(rows), ACTION_DIM)


def test_two_generations_are_kept(two, capsys):
    assert {path.name for path in two.iterdir()} == {"checkpoint.npz", "checkpoint.previous.npz"}
    assert newest(two)[0].epoch == 2
    shutil.copy(two / "checkpoint.previous.npz", two / "checkpoint.npz")
    assert newest(two)[0].epoch == 1
    assert capsys.readouterr().err == ""


def test_without_a_checkpoint_there_is_none(tmp_path):
    assert newest(tmp_path) is None


def test_a_damaged_checkpoint_gives_way_to_the_one_before(two, capsys):
    (two / "checkpoint.npz").write_bytes(b"half")
    path, _ = newest_readable(two, lambda path: load_state(path, fresh_state()))
    assert path.name == "checkpoint.previous.npz"
    assert (two / "checkpoint.npz").read_bytes() == b"half"  # who only looks changes nothing
    assert newest(two)[0].epoch == 1
    assert (two / "checkpoint.damaged.npz").read_bytes() == b"half"
    err = capsys.readouterr().err
    assert "checkpoint.npz" in err
    assert "checkpoint.previous.npz, is used instead" in err
    save_checkpoint(two / "checkpoint.npz", PROGRESS, trained_state(), ring(8, 5))
    assert load_checkpoint_epoch(two / "checkpoint.previous.npz") == 1


def test_a_missing_checkpoint_gives_way_to_the_one_before(two, capsys):
    (two / "checkpoint.npz").unlink()
    assert newest(two)[0].epoch == 1
    assert "is missing" in capsys.readouterr().err


def test_two_damaged_checkpoints_are_refused_and_kept(two):
    for path in two.iterdir():
        path.write_bytes(b"half")
    with pytest.raises(UserError, match=r"checkpoint\.npz"):
        newest(two)
    assert {path.name for path in two.iterdir()} == {"checkpoint.npz", "checkpoint.previous.npz"}
