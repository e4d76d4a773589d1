from dataclasses import replace

import h5py
import numpy as np
import pytest

from nppac.demos import Demos, load_demos
from nppac.utils.errors import UserError

from ..samples import assert_same, d4rl_columns, make_demos, make_episode, write_d4rl


@pytest.fixture
def columns():
    return d4rl_columns(make_demos())


def test_splits_at_terminals_and_timeouts(tmp_path, columns):
    found = load_demos(write_d4rl(tmp_path / "d.hdf5", columns))
    first, second = make_demos().episodes
    assert_same(found, Demos((replace(first, terminated=True), second)))


def test_a_timeout_alone_ends_an_episode(tmp_path, columns):
    columns["timeouts"] |= columns["terminals"]
    columns["terminals"][:] = False
    assert_same(load_demos(write_d4rl(tmp_path / "d.hdf5", columns)), make_demos())


def test_without_next_observations_the_last_is_unknown(tmp_path, columns):
    del columns["next_observations"]
    found = load_demos(write_d4rl(tmp_path / "d.hdf5", columns))
    assert [len(e.observations) for e in found.episodes] == [4, 3]


def test_steps_after_the_last_flag_are_an_unfinished_episode(tmp_path, columns):
    columns["timeouts"][:] = False
    found = load_demos(write_d4rl(tmp_path / "d.hdf5", columns))
    assert [(len(e), e.terminated) for e in found.episodes] == [(4, True), (3, False)]


def test_rewards_and_timeouts_are_optional(tmp_path, columns):
    del columns["rewards"], columns["timeouts"]
    found = load_demos(write_d4rl(tmp_path / "d.hdf5", columns))
    assert not found.has_rewards
    assert len(found) == 2


def test_one_episode_that_ends_with_the_file(tmp_path):
    demos = Demos((make_episode(5, terminated=True),))
    assert_same(load_demos(write_d4rl(tmp_path / "d.hdf5", d4rl_columns(demos))), demos)


def test_no_steps_load_as_no_episodes(tmp_path, columns):
    empty = {key: column[:0] for key, column in columns.items()}
    assert len(load_demos(write_d4rl(tmp_path / "d.hdf5", empty))) == 0


def test_missing_arrays_are_named(tmp_path, columns):
    del columns["terminals"], columns["actions"]
    path = write_d4rl(tmp_path / "d.hdf5", columns)
    with pytest.raises(UserError, match="HDF5 file without actions, terminals: it holds next_obs"):
        load_demos(path)


def test_arrays_of_different_lengths(tmp_path, columns):
    columns["rewards"] = np.zeros(6)
    path = write_d4rl(tmp_path / "d.hdf5", columns)
    with pytest.raises(UserError, match="rewards 6"):
        load_demos(path)


def test_truncated_file_is_the_users_error(tmp_path, columns):
    path = write_d4rl(tmp_path / "d.hdf5", columns)
    path.write_bytes(path.read_bytes()[:600])
    with pytest.raises(UserError, match="cannot be read as HDF5"):
        load_demos(path)


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("observations", {"arm": np.zeros(2)}, "'observations' is a group, not an array"),
        ("actions", 3.0, "'actions' is a number, not an array with a row for each step"),
        ("terminals", np.zeros(7, [("a", "f4"), ("b", "f4")]), "'terminals' is not an array of"),
        ("next_observations", np.zeros((7, 9)), r"'next_observations' \(7, 9\) differ in shape"),
        ("next_observations", np.zeros(7), r"'next_observations' \(7,\) differ in shape"),
    ],
)
def test_what_is_no_array_of_the_right_shape_is_named(tmp_path, key, value, message):
    columns = {
        "observations": np.zeros((7, 2)),
        "actions": np.zeros((7, 1)),
        "terminals": np.zeros(7, bool),
    }
    path = tmp_path / "odd.hdf5"
    with h5py.File(path, "w") as file:
        for name, data in {**columns, key: value}.items():
            if isinstance(data, dict):
                for part, array in data.items():
                    file[f"{name}/{part}"] = array
            else:
                file[name] = data
    with pytest.raises(UserError, match=message):
        load_demos(path)
