import re
import shutil
from dataclasses import replace
from functools import cache

import jax
import numpy as np
import pytest

from nppac.agents.replay import empty_replay, insert
from nppac.training.checkpoint import (
    Progress,
    load_checkpoint,
    load_newest,
    load_state,
    load_visited,
    newest_readable,
    save_checkpoint,
)
from nppac.training.checkpoint_arrays import DamagedCheckpoint
from nppac.training.transitions import transitions
from nppac.training.updates import run_updates
from nppac.types import Episode, ReferenceStats
from nppac.utils.errors import UserError
from nppac.utils.files import read_arrays, write_arrays
from toy_task import ACTION_DIM, AGENT, OBS_DIM

KEY = jax.random.key(3)
PROGRESS = Progress(epoch=3, env_steps=60, episodes=9, updates=40, wall_seconds=1.25)


def batch(start, length):
    """Transitions whose state, reward and reference tell which they are."""
    states = np.arange(start, start + length + 1, dtype=np.float32)[:, None] * np.ones(OBS_DIM)
    episode = Episode(
        states.astype(np.float32),
        np.zeros((length, ACTION_DIM), np.float32),
        np.arange(start, start + length, dtype=np.float32),
    )
    return transitions(
        [episode],
        lambda obs: ReferenceStats(obs[:, :ACTION_DIM], np.ones((len(obs), ACTION_DIM))),
    )


def ring(capacity, *lengths):
    replay, start = empty_replay(capacity, OBS_DIM, ACTION_DIM), 1
    for length in lengths:
        replay, start = insert(replay, batch(start, length)), start + length
    return replay


@cache
def trained_state():
    """A state none of whose leaves is as it was initialised."""
    state = AGENT.init(KEY, OBS_DIM, ACTION_DIM)
    return run_updates(AGENT, state, ring(60, 8), KEY, 20, 16, "normal")[0]


def fresh_state():
    return AGENT.init(jax.random.key(99), OBS_DIM, ACTION_DIM)


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


@pytest.fixture
def two(tmp_path):
    """A directory with two generations."""
    for epoch in (1, 2):
        progress = replace(PROGRESS, epoch=epoch)
        save_checkpoint(tmp_path / "checkpoint.npz", progress, trained_state(), ring(8, 5))
    return tmp_path


def newest(directory):
    return load_newest(directory, fresh_state(), empty_replay(8, OBS_DIM, ACTION_DIM))


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


def load_checkpoint_epoch(path):
    return load_checkpoint(path, fresh_state(), empty_replay(8, OBS_DIM, ACTION_DIM))[0].epoch


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


def test_edited_checkpoints_are_refused(two):
    path, rng = two / "checkpoint.npz", np.random.default_rng(0)
    whole = path.read_bytes()
    for place in rng.choice(len(whole), 100, replace=False):
        edited = bytearray(whole)
        edited[place] ^= int(rng.integers(1, 256))
        path.write_bytes(edited)
        with pytest.raises(DamagedCheckpoint, match=r"checkpoint\.npz"):
            load_state(path, fresh_state())


def test_rewritten_checkpoints_are_refused(two):
    path, rng = two / "checkpoint.npz", np.random.default_rng(0)
    with np.load(path) as archive:
        arrays = {name: archive[name] for name in archive.files if name != "checksum"}
        kept = archive["checksum"]
    for name, array in arrays.items():
        changed = array.copy().reshape(-1)
        if not changed.size:
            continue
        changed.view(np.uint8)[rng.integers(changed.nbytes)] ^= 1
        np.savez(path, **{**arrays, name: changed.reshape(array.shape), "checksum": kept})
        with pytest.raises(DamagedCheckpoint, match="checksum"):
            load_state(path, fresh_state())


def test_a_checkpoint_without_its_checksum_is_refused(two):
    path = two / "checkpoint.npz"
    np.savez(path, **read_arrays(path))
    with pytest.raises(DamagedCheckpoint, match="has no checksum"):
        load_state(path, fresh_state())


@pytest.mark.parametrize("name", ["replay/.reward", "replay/.obs", "state/.policy.trunk.biases[0]"])
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_numbers_that_are_not_finite_are_refused_with_their_place(two, name, value):
    path = two / "checkpoint.npz"
    arrays = read_arrays(path)
    array = arrays[name].copy()
    array[3] = value
    write_arrays(path, {**arrays, name: array})
    message = rf"{value:g} in '{re.escape(name)}' at \[3"
    with pytest.raises(UserError, match=message):
        newest(two)
    if name.startswith("state"):
        with pytest.raises(UserError, match=message):
            load_state(path, fresh_state())


def test_an_incomplete_checkpoint_is_refused(two):
    arrays = read_arrays(two / "checkpoint.npz")
    for name in ("progress/epoch", "replay/position", "replay/size"):
        rest = {key: array for key, array in arrays.items() if key != name}
        write_arrays(two / "checkpoint.npz", rest)
        with pytest.raises(DamagedCheckpoint, match="no complete checkpoint"):
            load_checkpoint_epoch(two / "checkpoint.npz")


FORGED = {
    "progress/epoch": [np.array("x"), np.array(-1), np.array(2**62), np.array([3])],
    "progress/env_steps": [np.array(np.nan), np.array(60.0), np.array(True)],
    "progress/wall_seconds": [np.array(np.inf), np.array(-1.0), np.array("x")],
    "replay/position": [np.array("x"), np.array(-1), np.array(10**9)],
    "replay/size": [np.array(10**9), np.array(1.5)],
    "replay/.reward": [np.array(["x"] * 8), np.zeros(3, np.float32), np.array(1.0)],
    "replay/.obs": [np.zeros((8, OBS_DIM), bool)],
    "state/.policy.trunk.biases[0]": [np.array(["x"] * 8)],
    "incumbent/challenges": [np.array("x"), np.array(-1)],
    "incumbent/scores": [np.array(["x"]), np.zeros((2, 2)), np.zeros(2**21, np.float32)],
    "incumbent/unit": [np.array("x"), np.array(np.nan)],
}
"""What does not belong into a checkpoint, with a checksum that fits."""


@pytest.mark.parametrize("name", FORGED)
def test_forged_checkpoints_are_refused_by_whoever_reads_them(two, name):
    path = two / "checkpoint.npz"
    arrays = read_arrays(path)
    for forged in FORGED[name]:
        write_arrays(path, {**arrays, name: forged})
        for read in (load_checkpoint_epoch, load_visited, lambda p: load_state(p, fresh_state())):
            with pytest.raises(DamagedCheckpoint, match=r"no sound checkpoint: (its replay|')"):
                read(path)
